// shoal load: clients for a server.
#include "apps/cluster_commands/load.h"

#include "cli.h"
#include "facts.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal load http://127.0.0.1:8000 --model digits --clients 16 --seconds 10
  shoal load http://127.0.0.1:8000 --model digits --clients 64 --timeout 20000 --json
  shoal load https://server:8000 --model digits --key key.txt --trust cert.pem)";

struct LoadFlags {
  serve::LoadSettings settings;
  bool json = false;
};

Outcome load(const LoadFlags& flags) {
  SHOAL_OR_EXIT(const serve::LoadOptions options, Exit::kUsage, flags.settings.options());
  SHOAL_OR_EXIT(const serve::LoadResult result, Exit::kNetwork, serve::run_load(options));
  print_facts(facts_of(result, options), flags.json);
  if (result.failed == 0) return {};
  return {Exit::kNetwork,
          std::to_string(result.failed) + " requests failed, the first: " + result.first_failure};
}

}  // namespace

void add_load(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "load", "Send requests to a server and time the answers", kExamples, load);
  command.add_option("url", flags.settings.url, "http://HOST:PORT or https://HOST:PORT")
      ->required();
  command.add_option("--model", flags.settings.model, "Name of the model")->required();
  command.add(settings_of(flags.settings));
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
