// shoal load: clients for a server.
#include <sstream>

#include "cli.h"
#include "facts.h"
#include "shoal/net/text_file.h"
#include "shoal/serve/http/load_facts.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal load http://127.0.0.1:8000 --model digits --clients 16 --seconds 10
  shoal load http://127.0.0.1:8000 --model digits --clients 64 --timeout 20000 --json
  shoal load https://server:8000 --model digits --key key.txt --trust cert.pem)";

struct LoadFlags {
  serve::LoadOptions options;
  std::string key_file, trusted_file;
  int clients = 1;
  double seconds = 5;
  bool json = false;
};

// The first word of a file; nothing without one.
Result<std::string> key_in(const std::string& path) {
  std::string key;
  if (path.empty()) return key;
  SHOAL_ASSIGN(const std::string text, net::read_secret(path));
  std::istringstream(text) >> key;
  if (key.empty()) return invalid("there is no key in " + path);
  return key;
}

Outcome load(LoadFlags& flags) {
  flags.options.clients = static_cast<size_t>(flags.clients);
  flags.options.time = std::chrono::duration<double>(flags.seconds);
  SHOAL_OR_EXIT(flags.options.key, Exit::kUsage, key_in(flags.key_file));
  if (!flags.trusted_file.empty()) {
    SHOAL_OR_EXIT(flags.options.trusted, Exit::kUsage, net::read_text(flags.trusted_file));
  }
  SHOAL_OR_EXIT(const serve::LoadResult result, Exit::kNetwork, serve::run_load(flags.options));
  print_facts(facts_of(result, flags.options), flags.json);
  if (result.failed == 0) return {};
  return {Exit::kNetwork,
          std::to_string(result.failed) + " requests failed, the first: " + result.first_failure};
}

}  // namespace

void add_load(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "load", "Send requests to a server and time the answers", kExamples, load);
  command.add_option("url", flags.options.url, "http://HOST:PORT or https://HOST:PORT")->required();
  command.add_option("--model", flags.options.model, "Name of the model")->required();
  command.add_option("--key", flags.key_file, "A file with the key that requests show");
  command.add_option("--trust", flags.trusted_file,
                     "Certificates (PEM) that the server's leads to; without: those of the system");
  command.add_setting("--clients", flags.clients, "Each sends one request after another",
                      in_range(1, 10'000));
  command.add_setting("--seconds", flags.seconds, "For so long", positive());
  command.add_option(
      "--rate", flags.options.rate,
      "Requests per second of all clients together; without: each sends its next one when it "
      "has an answer",
      positive());
  command.add_setting("--items", flags.options.items, "Items of a request: its batch",
                      in_range(1, 1 << 20));
  command.add_option("--timeout", flags.options.timeout_us,
                     "Microseconds that each request may take; 0: as the server says",
                     not_negative());
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
