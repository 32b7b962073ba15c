// shoal: one binary, one file per subcommand.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string_view>

#include "cli.h"
#include "shoal/base/files/bus_error.h"
#include "shoal/base/processes/parts.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/systolic/systolic_device.h"
#ifdef SHOAL_OPENCL
#include "shoal/engine/opencl/opencl.h"
#endif
#ifdef SHOAL_VULKAN
#include "shoal/engine/vulkan/vulkan.h"
#endif

namespace shoal::cli {
namespace {

constexpr size_t kMaxMessage = 16'000;  // one line, even if a model has a thousand faults

constexpr const char* kFooter = R"(
Examples:
  shoal run                                    classify the built-in sample digits
  shoal run model.onnx --input cat.jpg --preset imagenet --top 5
  shoal inspect model.onnx                     what is in it, what it costs
  shoal bench zoo:resnet18 --threads 2         how fast it runs here
  shoal zoo mobilenetv2 -o mobilenetv2.onnx    write a standard network

Everywhere a model file is expected, zoo:NAME works too (see 'shoal zoo').
Exit codes: 0 ok, 2 usage, 3 model, 4 device, 5 network, 6 auth, 7 timeout, 8 resources,
9 accuracy gate, 10 degraded. Data goes to stdout, everything else to stderr.)";

// Returns how many arguments are left.
int split_at_dashes(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (dashes != end) words_after_dashes().assign(dashes + 1, end);
  return static_cast<int>(dashes - argv);
}

// "--cluster mpi" is a flag with a value, for which CLI11 wants a sign of equality.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "--cluster" || words[i + 1] != "mpi") continue;
    words[i] += "=mpi";
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return words;
}

struct Listed {
  std::string_view name;
  void (*add)(Command&, Action&);
  const char* group;      // its heading in --help; empty: it is not shown
  bool with_all = false;  // added only together with all other commands, which it describes
};

constexpr const char kRun[] = "Run a model", kTeach[] = "Teach it", kSmaller[] = "Make it smaller",
                     kSeveral[] = "Use several devices", kServe[] = "Serve models",
                     kSee[] = "Watch videos and images", kExamine[] = "Examine, list and convert";

constexpr Listed kCommands[] = {{"run", add_run, kRun},
                                {"bench", add_bench, kRun},
                                {"profile", add_profile, kRun},
                                {"eval", add_eval, kRun},
                                {"train", add_train, kTeach},
                                {"exits", add_exits, kTeach},
                                {"specialise", add_specialise, kTeach},
                                {"shrink", add_shrink, kSmaller},
                                {"tprune", add_tprune, kSmaller},
                                {"search", add_search, kSmaller},
                                {"plan", add_plan, kSeveral},
                                {"simulate", add_simulate, kSeveral},
                                {"emulate", add_emulate, kSeveral},
                                {"cluster", add_cluster, kSeveral},
                                {"worker", add_worker, kSeveral},
                                {"devices", add_devices, kSeveral},
                                {"branch", add_branch, kSeveral},
                                {"fit-cluster", add_fit_cluster, kSeveral},
                                {"chaos", add_chaos, kSeveral},
                                {"serve", add_serve, kServe},
                                {"load", add_load, kServe},
                                {"catalog", add_catalog, kServe},
                                {"watch", add_watch, kSee},
                                {"faces", add_faces, kSee},
                                {"query", add_query, kSee},
                                {"inspect", add_inspect, kExamine},
                                {"convert", add_convert, kExamine},
                                {"zoo", add_zoo, kExamine},
                                {"operators", add_operators, kExamine},
                                {"doctor", add_doctor, kExamine},
                                {"completions", add_completions, kExamine, true},
                                {"demo", add_demo, ""}};

// All commands, or only the one that the first word names: the flags of all of them are a thousand
// objects, which take as long to make as a small model takes to answer.
void add_commands(Command& app, Action& action, std::string_view word) {
  const auto* const named = std::ranges::find_if(
      kCommands, [&](const Listed& one) { return one.name == word && !one.with_all; });
  for (const Listed& one : kCommands) {
    if (named != std::end(kCommands) && &one != named) continue;
    const size_t before = app.subcommands().size();
    one.add(app, action);
    if (app.subcommands().size() > before) app.last_subcommand()->group(one.group);
  }
}

Outcome parse_and_act(int argc, char** argv, int& parse_exit) {
  Command app("Shoal runs neural networks on the small devices people already have.", "shoal");
  app.footer(kFooter);
  app.version(std::string("shoal ") + SHOAL_VERSION);
  app.require_subcommand();
  Action action;
  register_devices();
  systolic::register_systolic_device();
#ifdef SHOAL_OPENCL
  register_opencl_device();
#else
  explain_missing_device("opencl", how_to_have(Part::kOpenCl));
#endif
#ifdef SHOAL_VULKAN
  register_vulkan_device();
#else
  explain_missing_device("vulkan", how_to_have(Part::kVulkan));
#endif
  add_commands(app, action, argc > 1 ? argv[1] : "");
  if (const std::optional<int> end = app.parse(words_of(split_at_dashes(argc, argv), argv))) {
    parse_exit = *end == 0 ? 0 : static_cast<int>(Exit::kUsage);
    return {};
  }
  return action();
}

int run(int argc, char** argv) {
  exit_on_bus_error(static_cast<int>(Exit::kResources));
  int parse_exit = 0;
  Outcome outcome;
  try {
    outcome = parse_and_act(argc, argv, parse_exit);
  } catch (const std::bad_alloc&) {
    outcome = {Exit::kResources, "out of memory"};
  } catch (const std::exception& error) {  // from a library; our own code throws nothing
    outcome = {Exit::kResources, error.what()};
  }
  if (outcome.exit == Exit::kOk) return parse_exit;
  std::fprintf(stderr, "shoal: %s\n", printable(outcome.message, kMaxMessage).c_str());
  return static_cast<int>(outcome.exit);
}

}  // namespace

}  // namespace shoal::cli

int main(int argc, char** argv) { return shoal::cli::run(argc, argv); }
