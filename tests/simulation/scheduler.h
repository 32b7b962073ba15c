// Scheduler: runs all threads of this process one at a time, in virtual time.
//
// A thread is a fiber: a separate stack on the one thread that the kernel knows. The functions of
// the C library that make threads, let them wait and tell the time are replaced (interpose.cc), so
// production code runs unchanged. The seed draws the next thread whenever one waits, unlocks or
// wakes another. Only waiting takes time: when no thread can run, time jumps to the next deadline.
// The same seed gives the same run.
//
// A machine is a set of threads: its first ones, and all that these create. It can be frozen and
// killed, and has its own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace shoal::simulation {

using Nanos = int64_t;  // of virtual time
inline constexpr Nanos kNever = INT64_MAX;
inline constexpr Nanos kMicrosecond = 1'000, kMillisecond = 1'000'000, kSecond = 1'000'000'000;

struct Disorder {
  uint64_t seed = 0;
  // A runnable thread is interrupted one in this many times. 0: never.
  uint32_t interrupt_one_in = 0;
  // Likewise for a delay of up to `longest_delay`, as by a busy or slow machine.
  uint32_t delay_one_in = 0;
  Nanos longest_delay = 0;
};

// From now on this decides. Before, threads take turns in a fixed order.
void set_disorder(const Disorder& disorder);
// Called, instead of all other threads, when no thread can ever run again, or when time reaches
// `end`. Must not return.
void set_last_resort(Nanos end, std::function<void(const std::string& why)> last_resort);

void give_up(const char* why);  // calls the last resort

uint64_t draw(uint64_t bound);  // a number below `bound`, from the seed
inline bool one_in(uint64_t n) { return n > 0 && draw(n) == 0; }

Nanos now();                              // of the simulation: no machine's clock
Nanos clock_of_this_machine();            // CLOCK_MONOTONIC
Nanos from_clock_of_this_machine(Nanos);  // a point in time, on the simulation's clock

// Threads. Machine 0 is there from the beginning, with the thread of main().
int make_machine(std::string name, Nanos clock_ahead);
int this_machine();
uint64_t spawn(int machine, std::function<void()> body);
void* join(uint64_t thread);
void detach(uint64_t thread);
uint64_t this_thread();
size_t thread_count();  // that live; those of killed machines are not counted

// Waits for a wake-up at the address, which is only a name, or for the deadline. False: it passed.
// `what` is for reports, and is not copied.
bool wait(const void* address, Nanos deadline, const char* what);
int wake(const void* address, int most);
void sleep_until(Nanos time);
void interrupt();         // maybe: lets another thread run
void interrupt_seldom();  // the same, for what happens very often

// Between the two, which may be nested, the thread is not interrupted.
void begin_uninterrupted();
void end_uninterrupted();

// While it lives, the thread is not interrupted: parts of the simulation need no locks.
class Uninterrupted {
 public:
  Uninterrupted() { begin_uninterrupted(); }
  ~Uninterrupted() { end_uninterrupted(); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

void freeze(int machine, Nanos until);
void kill(int machine);    // its threads never run again. REQUIRES: not this one
void revive(int machine);  // it may have new threads
bool is_dead(int machine);

std::string describe_threads();  // and what each waits for
uint64_t hash();                 // of the order in which threads ran
uint64_t switches();

}  // namespace shoal::simulation
