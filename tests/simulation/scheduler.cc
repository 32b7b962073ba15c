// One kernel thread, many stacks. A switch saves what belongs to a thread and not to its stack:
// errno and the exceptions it handles. Thread-local variables are shared, which no code in a
// history can tell, because none keeps anything in one while it waits.
//
// A thread begins with setcontext() and is switched by longjmp(): swapcontext() would ask the
// kernel for the signal mask each time.
//
// Threads are few (about a hundred), so all searches are linear; a mutex or condition variable
// counts its waiters itself (interpose.cc), so most of the time there is nothing to search for.
#undef _FORTIFY_SOURCE  // whose longjmp() stays on one stack
#include "scheduler.h"

#include <cxxabi.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "heap.h"

namespace shoal::simulation {
namespace {

constexpr size_t kStackBytes = size_t{128} << 10;
constexpr uint64_t kCanary = 0x5ca1ab1e0ddba11;

// The runtime's record of the exceptions that a thread handles.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

enum class State : uint8_t { kRuns, kRunnable, kWaits, kEnded, kDead };

struct Thread {
  uint64_t id = 0;
  int machine = 0;
  State state = State::kRunnable;
  bool detached = false, joined = false, woken = false;
  const void* address = nullptr;  // where it waits
  Nanos deadline = kNever;
  const char* what = "begins";
  std::function<void()> body;
  std::byte* stack = nullptr;
  bool has_begun = false;
  jmp_buf registers{};
  Exceptions exceptions;
  int error = 0;
  int uninterrupted = 0;  // depth
};

struct Machine {
  std::string name;
  Nanos clock_ahead = 0, frozen_until = 0;
  bool dead = false;
};

class Scheduler {
 public:
  Scheduler() {
    machines_.push_back({"simulation", 0, 0, false});
    threads_.push_back(std::make_unique<Thread>());
    current_ = threads_.front().get();
    current_->id = next_id_++;
    current_->state = State::kRuns;
    current_->what = "runs";
    current_->has_begun = true;
  }

  Disorder disorder;
  std::function<void(const std::string&)> last_resort;
  Nanos end = kNever;
  uint64_t random = 0, hash = 0xcbf29ce484222325, switches = 0;
  // Time does not begin at 0: a deadline of 0 is one that has passed.
  Nanos now = 1000 * kSecond;

  std::vector<Machine>& machines() { return machines_; }
  Thread& current() { return *current_; }

  uint64_t draw(uint64_t bound) {
    random += 0x9e3779b97f4a7c15;  // SplitMix64
    uint64_t x = random;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % bound;
  }

  uint64_t spawn(int machine, std::function<void()> body);
  void* join(uint64_t id);
  void detach(uint64_t id);
  bool wait(const void* address, Nanos deadline, const char* what);
  int wake(const void* address, int most);
  void interrupt();
  void kill(int machine);
  size_t thread_count() const;
  std::string describe() const;
  [[noreturn]] void run_body();

 private:
  Thread* find(uint64_t id);
  Thread* pick();
  bool advance();
  void switch_to(Thread* next);
  [[noreturn]] static void resume(Thread& thread);
  void make_runnable(Thread* thread) {
    thread->state = State::kRunnable;
    runnable_.push_back(thread);
  }
  void forget(Thread* thread);

  std::vector<Machine> machines_;
  std::vector<std::unique_ptr<Thread>> threads_;  // all that have not been joined
  std::vector<Thread*> runnable_;
  std::vector<std::byte*> stacks_;  // free ones
  Thread* current_ = nullptr;
  uint64_t next_id_ = 1;
};

Scheduler* the_one = nullptr;

// Made at the first call, which may come from the initialisation of any library.
Scheduler& scheduler() {
  alignas(Scheduler) static std::byte place[sizeof(Scheduler)];
  if (the_one == nullptr) the_one = new (place) Scheduler;
  return *the_one;
}

void begin_thread() { scheduler().run_body(); }

std::byte* make_stack() {
  static std::byte* next = reserve_memory(size_t{1} << 30);
  std::byte* stack = next;
  next += kStackBytes;
  std::memcpy(stack, &kCanary, sizeof(kCanary));
  return stack;
}

uint64_t Scheduler::spawn(int machine, std::function<void()> body) {
  const Uninterrupted alone;
  auto owned = std::make_unique<Thread>();
  Thread* const thread = owned.get();
  thread->id = next_id_++;
  thread->machine = machine;
  thread->body = std::move(body);
  if (stacks_.empty()) stacks_.push_back(make_stack());
  thread->stack = stacks_.back();
  stacks_.pop_back();
  threads_.push_back(std::move(owned));
  make_runnable(thread);
  return thread->id;
}

void Scheduler::run_body() {
  current_->what = "runs";
  current_->body();
  current_->body = nullptr;
  ++current_->uninterrupted;
  uint64_t canary = 0;
  std::memcpy(&canary, current_->stack, sizeof(canary));
  if (canary != kCanary) last_resort("a thread needs more stack than the simulation gives it");
  current_->state = State::kEnded;
  wake(current_, 1);
  stacks_.push_back(current_->stack);
  Thread* const ended = current_;
  if (ended->detached) forget(ended);
  switch_to(pick());
  std::abort();  // it is never resumed
}

// The object may be the one whose stack this runs on; the stack is not freed.
void Scheduler::forget(Thread* thread) {
  if (thread == current_) current_ = nullptr;
  std::erase_if(threads_, [&](const auto& one) { return one.get() == thread; });
}

Thread* Scheduler::find(uint64_t id) {
  for (const auto& thread : threads_) {
    if (thread->id == id) return thread.get();
  }
  return nullptr;
}

void* Scheduler::join(uint64_t id) {
  Thread* const thread = find(id);
  if (thread == nullptr || thread->detached || thread->joined || thread == current_) {
    last_resort("a thread is joined that cannot be");
  }
  thread->joined = true;
  while (thread->state != State::kEnded) wait(thread, kNever, "joins");
  forget(thread);
  return nullptr;
}

void Scheduler::detach(uint64_t id) {
  Thread* const thread = find(id);
  if (thread->state == State::kEnded) return forget(thread);
  thread->detached = true;
}

bool Scheduler::wait(const void* address, Nanos deadline, const char* what) {
  Thread* const self = current_;
  if (deadline <= now) return false;
  ++self->uninterrupted;
  self->state = State::kWaits;
  self->address = address;
  self->deadline = deadline;
  self->woken = false;
  self->what = what;
  Thread* const next = pick();
  if (next != self) switch_to(next);
  self->state = State::kRuns;
  self->what = "runs";
  --self->uninterrupted;
  return self->woken;
}

// Any of the waiters, as a kernel may choose.
int Scheduler::wake(const void* address, int most) {
  const Uninterrupted alone;
  std::vector<Thread*> waiters;
  for (const auto& thread : threads_) {
    if (thread->state == State::kWaits && thread->address == address) {
      waiters.push_back(thread.get());
    }
  }
  int woken = 0;
  for (; woken < most && !waiters.empty(); ++woken) {
    const size_t i = draw(waiters.size());
    waiters[i]->woken = true;
    make_runnable(waiters[i]);
    waiters[i] = waiters.back();
    waiters.pop_back();
  }
  return woken;
}

void Scheduler::interrupt() {
  // The machine that watches is quick.
  if (current_ == nullptr || current_->machine == 0 || current_->uninterrupted > 0) return;
  if (disorder.delay_one_in > 0 && draw(disorder.delay_one_in) == 0) {
    // From microseconds to the longest: all orders of magnitude are equally likely.
    const Nanos longest = disorder.longest_delay >> draw(16);
    wait(this, now + 1 + static_cast<Nanos>(draw(static_cast<uint64_t>(longest) + 1)),
         "is held up");
    return;
  }
  if (disorder.interrupt_one_in == 0 || draw(disorder.interrupt_one_in) != 0) return;
  if (runnable_.empty()) return;
  Thread* const self = current_;
  ++self->uninterrupted;
  self->what = "is interrupted";
  make_runnable(self);
  Thread* const next = pick();
  if (next != self) switch_to(next);
  self->state = State::kRuns;
  self->what = "runs";
  --self->uninterrupted;
}

// The next thread to run. Those of frozen machines wait.
Thread* Scheduler::pick() {
  for (;;) {
    while (runnable_.empty()) {
      if (!advance()) last_resort("no thread can run any more");
      if (now > end) last_resort("it does not come to an end");
    }
    const size_t i = draw(runnable_.size());
    Thread* const next = runnable_[i];
    runnable_[i] = runnable_.back();
    runnable_.pop_back();
    const Machine& machine = machines_[static_cast<size_t>(next->machine)];
    if (machine.frozen_until <= now) return next;
    next->state = State::kWaits;
    next->address = nullptr;
    next->deadline = machine.frozen_until;
  }
}

// Lets time pass until a thread's deadline. False: none has one.
bool Scheduler::advance() {
  Nanos next = kNever;
  for (const auto& thread : threads_) {
    if (thread->state == State::kWaits && thread->deadline < next) next = thread->deadline;
  }
  if (next == kNever) return false;
  if (next > now) now = next;
  for (const auto& thread : threads_) {
    if (thread->state == State::kWaits && thread->deadline <= now) make_runnable(thread.get());
  }
  return true;
}

void Scheduler::switch_to(Thread* next) {
  Thread* const self = current_;
  hash = (hash ^ next->id ^ static_cast<uint64_t>(now) << 8) * 0x100000001b3;
  ++switches;
  current_ = next;
  auto* const exceptions = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  if (self != nullptr) {
    self->exceptions = *exceptions;
    self->error = errno;
  }
  *exceptions = next->exceptions;
  if (self == nullptr) resume(*next);
  if (_setjmp(self->registers) == 0) resume(*next);
  errno = current_->error;
}

void Scheduler::resume(Thread& thread) {
  if (thread.has_begun) _longjmp(thread.registers, 1);
  thread.has_begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = thread.stack;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, begin_thread, 0);
  setcontext(&context);
  std::abort();  // it does not return
}

void Scheduler::kill(int machine) {
  machines_[static_cast<size_t>(machine)].dead = true;
  machines_[static_cast<size_t>(machine)].frozen_until = 0;
  std::erase_if(runnable_, [&](const Thread* thread) { return thread->machine == machine; });
  for (const auto& thread : threads_) {
    if (thread->machine == machine && thread->state != State::kEnded) thread->state = State::kDead;
  }
  std::erase_if(threads_, [&](const auto& thread) {
    return thread->machine == machine && thread->state == State::kEnded;
  });
}

size_t Scheduler::thread_count() const {
  size_t count = 0;
  for (const auto& thread : threads_) {
    count += thread->state != State::kDead;
  }
  return count;
}

std::string Scheduler::describe() const {
  std::string text;
  for (const auto& thread : threads_) {
    if (thread->state == State::kDead) continue;
    text += "  thread " + std::to_string(thread->id) + " of " +
            machines_[static_cast<size_t>(thread->machine)].name + ": " +
            (thread->state == State::kEnded ? "has ended and is not joined" : thread->what);
    if (thread->state == State::kWaits && thread->deadline != kNever) {
      text += " for " + std::to_string((thread->deadline - now) / kMicrosecond) + " us";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

void set_disorder(const Disorder& disorder) {
  scheduler().disorder = disorder;
  scheduler().random = disorder.seed * 0x9e3779b97f4a7c15;
}

void set_last_resort(Nanos end, std::function<void(const std::string&)> last_resort) {
  scheduler().end = end;
  scheduler().last_resort = std::move(last_resort);
}

void give_up(const char* why) { scheduler().last_resort(why); }

uint64_t draw(uint64_t bound) { return scheduler().draw(bound); }
Nanos now() { return scheduler().now; }

Nanos clock_of_this_machine() {
  Scheduler& all = scheduler();
  // Reading a clock takes time, so that a polling thread makes progress.
  constexpr Nanos kReading = 50;
  all.now += kReading;
  return all.now + all.machines()[static_cast<size_t>(all.current().machine)].clock_ahead;
}

Nanos from_clock_of_this_machine(Nanos time) {
  Scheduler& all = scheduler();
  constexpr Nanos kFar = kNever / 2;
  if (time >= kFar) return kNever;
  return time - all.machines()[static_cast<size_t>(all.current().machine)].clock_ahead;
}

int make_machine(std::string name, Nanos clock_ahead) {
  scheduler().machines().push_back({std::move(name), clock_ahead, 0, false});
  return static_cast<int>(scheduler().machines().size()) - 1;
}

int this_machine() { return scheduler().current().machine; }
uint64_t spawn(int machine, std::function<void()> body) {
  return scheduler().spawn(machine, std::move(body));
}
void* join(uint64_t thread) { return scheduler().join(thread); }
void detach(uint64_t thread) { scheduler().detach(thread); }
uint64_t this_thread() { return scheduler().current().id; }
size_t thread_count() { return scheduler().thread_count(); }

bool wait(const void* address, Nanos deadline, const char* what) {
  return scheduler().wait(address, deadline, what);
}
int wake(const void* address, int most) { return scheduler().wake(address, most); }

void sleep_until(Nanos time) {
  // The address of a local variable: no thread wakes it. A frozen machine may, before the time.
  const char nobody = 0;
  while (now() < time) wait(&nobody, time, "sleeps");
}

void interrupt() { scheduler().interrupt(); }

void interrupt_seldom() {
  constexpr uint64_t kOneIn = 16;
  // The scheduler itself allocates memory.
  if (the_one != nullptr && one_in(kOneIn)) the_one->interrupt();
}

void begin_uninterrupted() { ++scheduler().current().uninterrupted; }
void end_uninterrupted() { --scheduler().current().uninterrupted; }

void freeze(int machine, Nanos until) {
  scheduler().machines()[static_cast<size_t>(machine)].frozen_until = until;
}
void kill(int machine) { scheduler().kill(machine); }
void revive(int machine) { scheduler().machines()[static_cast<size_t>(machine)].dead = false; }
bool is_dead(int machine) { return scheduler().machines()[static_cast<size_t>(machine)].dead; }

std::string describe_threads() { return scheduler().describe(); }
uint64_t hash() { return scheduler().hash; }
uint64_t switches() { return scheduler().switches; }

}  // namespace shoal::simulation
