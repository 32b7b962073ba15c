// The functions of the C library that the scheduler stands for. What a program defines itself, all
// shared libraries call, too: the standard library's mutexes, threads and clocks end here.
//
// State is kept in the objects of the C library, which are all zeros to begin with, as its static
// initialisers make them.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <new>
#include <random>

#include "disk.h"
#include "heap.h"
#include "scheduler.h"

namespace sim = shoal::simulation;

namespace {

constexpr sim::Nanos kYear2030 = 1'893'456'000 * sim::kSecond;

sim::Nanos nanoseconds(const timespec& time) {
  constexpr sim::Nanos kMostSeconds = sim::kNever / 4 / sim::kSecond;
  if (time.tv_sec >= kMostSeconds) return sim::kNever;
  return time.tv_sec * sim::kSecond + time.tv_nsec;
}

timespec to_timespec(sim::Nanos time) { return {time / sim::kSecond, time % sim::kSecond}; }

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

sim::Nanos read_clock(clockid_t clock) {
  return sim::clock_of_this_machine() + (is_wall_clock(clock) ? kYear2030 : 0);
}

// A point in time of a clock, on the simulation's.
sim::Nanos deadline_of(clockid_t clock, const timespec* time) {
  if (time == nullptr) return sim::kNever;
  const sim::Nanos at = nanoseconds(*time);
  if (at == sim::kNever) return at;
  return sim::from_clock_of_this_machine(at - (is_wall_clock(clock) ? kYear2030 : 0));
}

// A mutex in memory that has been freed (heap.h).
void check_in_use(const pthread_mutex_t* mutex) {
  constexpr int kFreed = static_cast<int>(sim::kFreedByte * 0x01010101U);
  if (mutex->__data.__kind == kFreed) sim::give_up("a mutex is used that has been freed");
}

int lock(pthread_mutex_t* mutex, sim::Nanos deadline) {
  check_in_use(mutex);
  auto& its = mutex->__data;
  const auto self = static_cast<int>(sim::this_thread());
  const bool is_recursive = (its.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
  if (is_recursive && its.__lock != 0 && its.__owner == self) {
    ++its.__count;
    return 0;
  }
  while (its.__lock != 0) {
    ++its.__nusers;  // that wait
    const bool in_time = sim::wait(mutex, deadline, "waits for a mutex");
    --its.__nusers;
    if (!in_time && its.__lock != 0) return ETIMEDOUT;
  }
  its.__lock = 1;
  its.__owner = self;
  return 0;
}

int unlock(pthread_mutex_t* mutex) {
  check_in_use(mutex);
  auto& its = mutex->__data;
  if (its.__count > 0) {
    --its.__count;
    return 0;
  }
  its.__lock = 0;
  its.__owner = 0;
  if (its.__nusers > 0) sim::wake(mutex, 1);
  return 0;
}

// The first word of a condition variable counts the threads that wait.
unsigned& waiters(pthread_cond_t* condition) { return *reinterpret_cast<unsigned*>(condition); }

int wait_for(pthread_cond_t* condition, pthread_mutex_t* mutex, sim::Nanos deadline) {
  // Nothing runs between the unlock and the wait. Now and then the wait ends for no reason, which
  // the standard allows.
  constexpr uint64_t kSpuriousOneIn = 256;
  if (sim::this_machine() != 0 && sim::one_in(kSpuriousOneIn)) {
    unlock(mutex);
    sim::interrupt();
    return lock(mutex, sim::kNever);
  }
  unlock(mutex);
  ++waiters(condition);
  const bool in_time = sim::wait(condition, deadline, "waits for a condition");
  --waiters(condition);
  lock(mutex, sim::kNever);
  return in_time ? 0 : ETIMEDOUT;
}

// Only libcrypto has such locks, for state that all machines of this process share. A killed
// machine would keep them for ever, so a thread that holds one is not interrupted.
struct ReadWrite {
  unsigned readers, writer, waiting;
};
static_assert(sizeof(ReadWrite) <= sizeof(pthread_rwlock_t));
ReadWrite& of(pthread_rwlock_t* lock) { return *reinterpret_cast<ReadWrite*>(lock); }

template <class IsFree>
void await(ReadWrite& its, const IsFree& is_free) {
  while (!is_free()) {
    ++its.waiting;
    sim::wait(&its, sim::kNever, "waits for a shared mutex");
    --its.waiting;
  }
}

using Syscall = long (*)(long, ...);
Syscall real_syscall() {
  static const auto real = reinterpret_cast<Syscall>(::dlsym(RTLD_NEXT, "syscall"));
  return real;
}

// For std::atomic::wait, semaphores and the guards of static variables.
long futex(uint32_t* word, int operation, uint32_t value, const timespec* timeout) {
  const clockid_t clock =
      (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
      const int woken = sim::wake(word, static_cast<int>(value));
      sim::interrupt();
      return woken;
    }
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
        errno = EAGAIN;
        return -1;
      }
      const bool is_relative = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT;
      const sim::Nanos deadline = is_relative && timeout != nullptr
                                      ? sim::now() + nanoseconds(*timeout)
                                      : deadline_of(clock, timeout);
      if (sim::wait(word, deadline, "waits for a futex")) return 0;
      errno = ETIMEDOUT;
      return -1;
    }
    default:
      errno = ENOSYS;
      return -1;
  }
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t*, void* (*body)(void*),
                   void* argument) noexcept {
  *thread = sim::spawn(sim::this_machine(), [=] { body(argument); });
  sim::interrupt();
  return 0;
}
int pthread_join(pthread_t thread, void** result) {
  void* const ended = sim::join(thread);
  if (result != nullptr) *result = ended;
  return 0;
}
int pthread_detach(pthread_t thread) noexcept {
  sim::detach(thread);
  return 0;
}
pthread_t pthread_self() noexcept { return sim::this_thread(); }

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) noexcept {
  std::memset(mutex, 0, sizeof(*mutex));
  int kind = PTHREAD_MUTEX_NORMAL;
  if (attributes != nullptr) pthread_mutexattr_gettype(attributes, &kind);
  mutex->__data.__kind = kind;
  return 0;
}
int pthread_mutex_destroy(pthread_mutex_t*) noexcept { return 0; }
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return lock(mutex, sim::kNever); }
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return lock(mutex, 0) == 0 ? 0 : EBUSY;
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  return lock(mutex, deadline_of(CLOCK_REALTIME, until));
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                            const timespec* until) noexcept {
  return lock(mutex, deadline_of(clock, until));
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  unlock(mutex);
  sim::interrupt();
  return 0;
}

int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t*) noexcept {
  std::memset(condition, 0, sizeof(*condition));
  return 0;
}
int pthread_cond_destroy(pthread_cond_t*) noexcept { return 0; }
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_for(condition, mutex, sim::kNever);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  return wait_for(condition, mutex, deadline_of(CLOCK_REALTIME, until));
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  return wait_for(condition, mutex, deadline_of(clock, until));
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (waiters(condition) > 0) sim::wake(condition, 1);
  sim::interrupt();
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (waiters(condition) > 0) sim::wake(condition, INT_MAX);
  sim::interrupt();
  return 0;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  ReadWrite& its = of(lock);
  await(its, [&] { return its.writer == 0; });
  sim::begin_uninterrupted();
  ++its.readers;
  return 0;
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  if (of(lock).writer != 0) return EBUSY;
  sim::begin_uninterrupted();
  ++of(lock).readers;
  return 0;
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  ReadWrite& its = of(lock);
  await(its, [&] { return its.writer == 0 && its.readers == 0; });
  sim::begin_uninterrupted();
  its.writer = 1;
  return 0;
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  if (of(lock).writer != 0 || of(lock).readers != 0) return EBUSY;
  sim::begin_uninterrupted();
  of(lock).writer = 1;
  return 0;
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  ReadWrite& its = of(lock);
  if (its.writer != 0) {
    its.writer = 0;
  } else {
    --its.readers;
  }
  if (its.waiting > 0) sim::wake(&its, INT_MAX);
  sim::end_uninterrupted();
  return 0;
}

int pthread_once(pthread_once_t* once, void (*body)()) {
  constexpr int kUnderWay = 1, kDone = 2;
  while (*once == kUnderWay) sim::wait(once, sim::kNever, "waits for a call that is made once");
  if (*once == kDone) return 0;
  *once = kUnderWay;
  body();
  *once = kDone;
  sim::wake(once, INT_MAX);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  *time = to_timespec(read_clock(clock));
  return 0;
}
int gettimeofday(timeval* time, void*) noexcept {
  const timespec now = to_timespec(read_clock(CLOCK_REALTIME));
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
time_t time(time_t* seconds) noexcept {
  const time_t now = read_clock(CLOCK_REALTIME) / sim::kSecond;
  if (seconds != nullptr) *seconds = now;
  return now;
}
int nanosleep(const timespec* duration, timespec*) {
  sim::sleep_until(sim::now() + nanoseconds(*duration));
  return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec*) {
  const bool is_point = (flags & TIMER_ABSTIME) != 0;
  sim::sleep_until(is_point ? deadline_of(clock, time) : sim::now() + nanoseconds(*time));
  return 0;
}
int sched_yield() noexcept {
  // Time passes for a thread that polls.
  sim::sleep_until(sim::now() + sim::kMicrosecond);
  return 0;
}
// Priorities mean nothing here.
int setpriority(__priority_which_t, id_t, int) noexcept { return 0; }

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& one : a) one = va_arg(list, long);
  va_end(list);
  switch (number) {
    case SYS_futex:
      return futex(reinterpret_cast<uint32_t*>(a[0]), static_cast<int>(a[1]),
                   static_cast<uint32_t>(a[2]), reinterpret_cast<const timespec*>(a[3]));
    case SYS_sched_setattr:
      return 0;
    default:
      return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
}

int fsync(int file) {
  const int result = static_cast<int>(real_syscall()(SYS_fsync, file));
  if (result == 0) sim::note_synced(file);
  sim::interrupt();
  return result;
}
int fdatasync(int file) { return fsync(file); }

}  // extern "C"

// Random numbers come from the seed.
void std::random_device::_M_init(const std::string&) {}
void std::random_device::_M_fini() {}  // the library's would close a file that was not opened
std::random_device::result_type std::random_device::_M_getval() {
  return static_cast<result_type>(sim::draw(uint64_t{1} << 32));
}

// A place where a thread may be interrupted although it neither locks nor waits, so that races
// between unguarded reads and writes show as well.
void* operator new(size_t bytes) {
  sim::interrupt_seldom();
  if (void* const block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
