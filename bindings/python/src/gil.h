// The global interpreter lock, released or acquired for a scope.
//
// pybind11 2.10 has both, but when a thread returns to an interpreter that is shutting down, it is
// ended by pthread_exit, which unwinds its stack into a destructor and so aborts the process. A
// program may well end while its daemon threads wait for answers: such a thread sleeps here until
// the process is gone, as in Python 3.14.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace shoal::python {

// Runs `take`, which waits for the GIL.
template <class Take>
auto take_or_sleep(Take take) {
  try {
    return take();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// Lets other Python threads run. REQUIRES: the GIL is held; nothing in the scope touches Python.
class ReleasedGil {
 public:
  ReleasedGil() : thread_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    take_or_sleep([this] { PyEval_RestoreThread(thread_); });
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* const thread_;
};

// Acquires the GIL on any thread, whether or not it holds it already.
class AcquiredGil {
 public:
  AcquiredGil() : state_(take_or_sleep([] { return PyGILState_Ensure(); })) {}
  ~AcquiredGil() { PyGILState_Release(state_); }
  AcquiredGil(const AcquiredGil&) = delete;
  AcquiredGil& operator=(const AcquiredGil&) = delete;

 private:
  const PyGILState_STATE state_;
};

}  // namespace shoal::python
