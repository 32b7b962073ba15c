// The interface between main() and the subcommands: exit codes, and handing over a command's work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/flags/flags.h"
#include "shoal/base/status.h"

namespace shoal::cli {

// Documented in docs/reference/cli.md; scripts rely on them.
enum class Exit {
  kOk = 0,
  kUsage = 2,
  kModel = 3,
  kDevice = 4,
  kNetwork = 5,
  kAuth = 6,
  kTimeout = 7,
  kResources = 8,
  kAccuracy = 9,
  kDegraded = 10,
  kInterrupted = 130,  // by a signal that let it end in order
};

// How a command ended: an exit code and, unless that is kOk, one line for the user.
struct Outcome {
  Exit exit = Exit::kOk;
  std::string message;
};

inline Outcome fail(Exit exit, const Status& status) {
  return {exit, std::string(status.message())};
}

// A command's work, chosen while the command line is read, done after it.
using Action = std::function<Outcome()>;

// Returns from the enclosing function with `exit_code` if `expr` (a Result) failed. It may also be
// an operation (exit_codes.h).
#define SHOAL_OR_EXIT(declaration, exit_code, expr) \
  SHOAL_OR_EXIT_(SHOAL_CONCAT(shoal_result_, __LINE__), declaration, exit_code, expr)
#define SHOAL_OR_EXIT_(result, declaration, exit_code, expr)               \
  auto result = (expr);                                                    \
  if (!result.ok()) return ::shoal::cli::fail(exit_code, result.status()); \
  declaration = *std::move(result)

// Adds a command with the flags that `act` takes; the result declares them.
template <class Flags>
std::pair<Command&, std::remove_const_t<Flags>&> add_command(Command& app, Action& action,
                                                             const char* name, const char* what,
                                                             const char* examples,
                                                             Outcome (*act)(Flags&)) {
  const auto flags = std::make_shared<std::remove_const_t<Flags>>();
  Command* const command = app.add_subcommand(name, what);
  command->footer(examples);
  command->callback([flags, act, &action] { action = [flags, act] { return act(*flags); }; });
  return {*command, *flags};
}

// The words after "--" on the command line: another command, which is not parsed here. main() sets
// them before any command runs.
inline std::vector<std::string>& words_after_dashes() {
  static std::vector<std::string> words;
  return words;
}

// Makes all kinds of devices known. To be called before commands are added.
void register_devices();

// One per subcommand, each in its own file.
void add_bench(Command& app, Action& action);
void add_branch(Command& app, Action& action);
void add_catalog(Command& app, Action& action);
void add_completions(Command& app, Action& action);
void add_convert(Command& app, Action& action);
void add_doctor(Command& app, Action& action);
void add_eval(Command& app, Action& action);
void add_exits(Command& app, Action& action);
void add_specialise(Command& app, Action& action);
void add_faces(Command& app, Action& action);
void add_fit_cluster(Command& app, Action& action);
void add_inspect(Command& app, Action& action);
void add_load(Command& app, Action& action);  // nothing where it is not built
void add_operators(Command& app, Action& action);
void add_plan(Command& app, Action& action);
void add_profile(Command& app, Action& action);
void add_query(Command& app, Action& action);
void add_run(Command& app, Action& action);
void add_search(Command& app, Action& action);
void add_serve(Command& app, Action& action);  // nothing where it is not built
void add_shrink(Command& app, Action& action);
void add_simulate(Command& app, Action& action);
void add_tprune(Command& app, Action& action);
void add_train(Command& app, Action& action);
void add_watch(Command& app, Action& action);
void add_zoo(Command& app, Action& action);
void add_catalog_build(Command& catalog, Action& action);  // 'build' of 'shoal catalog'

// In cluster/; nothing where that is not built.
void add_chaos(Command& app, Action& action);
void add_cluster(Command& app, Action& action);
void add_demo(Command& app, Action& action);
void add_devices(Command& app, Action& action);
void add_emulate(Command& app, Action& action);
void add_worker(Command& app, Action& action);

}  // namespace shoal::cli
