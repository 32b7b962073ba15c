// shoal: one binary, one file per subcommand.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string_view>

#include "cli.h"
#include "shoal/base/files/bus_error.h"
#include "shoal/base/text/printable.h"
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
  std::string_view name;  // none: added with all others only
  void (*add)(Command&, Action&);
};

constexpr Listed kCommands[] = {{"run", add_run},
                                {"inspect", add_inspect},
                                {"bench", add_bench},
                                {"profile", add_profile},
                                {"train", add_train},
                                {"eval", add_eval},
                                {"shrink", add_shrink},
                                {"exits", add_exits},
                                {"specialise", add_specialise},
                                {"tprune", add_tprune},
                                {"branch", add_branch},
                                {"search", add_search},
                                {"fit-cluster", add_fit_cluster},
                                {"watch", add_watch},
                                {"faces", add_faces},
                                {"query", add_query},
                                {"convert", add_convert},
                                {"zoo", add_zoo},
                                {"plan", add_plan},
                                {"simulate", add_simulate},
                                {"catalog", add_catalog},
                                {"serve", add_serve},
                                {"load", add_load},
                                {"", add_cluster_commands},
                                {"operators", add_operators},
                                {"doctor", add_doctor},
                                {"", add_completions}};

// All commands, or only the one that the first word names: the flags of all of them are a thousand
// objects, which take as long to make as a small model takes to answer.
void add_commands(Command& app, Action& action, std::string_view word) {
  const auto* const named = std::ranges::find_if(
      kCommands, [&](const Listed& one) { return !word.empty() && one.name == word; });
  for (const Listed& one : kCommands) {
    if (named == std::end(kCommands) || &one == named) one.add(app, action);
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
#endif
#ifdef SHOAL_VULKAN
  register_vulkan_device();
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
