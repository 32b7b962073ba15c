// shoal serve: models behind the Open Inference Protocol.
#include <cstdio>
#include <fstream>
#include <set>

#include "cli.h"
#include "cluster/notify.h"
#include "cluster/stop_signals.h"
#include "model.h"
#include "shoal/base/notification.h"
#include "shoal/base/usable_cores.h"
#include "shoal/base/user_folders.h"
#include "shoal/data/presets.h"
#include "shoal/net/address.h"
#include "shoal/net/text_file.h"
#include "shoal/serve/http/server.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal serve                                    the built-in digits; open http://127.0.0.1:8000
  curl --data-binary @digit.png 127.0.0.1:8000/v2/models/digits/classify
  shoal serve model.onnx small=other.onnx --listen 127.0.0.1:9000
  shoal serve resnet50.onnx --preset imagenet --labels classes.txt
  shoal serve model.onnx --grpc 127.0.0.1:8001
  shoal serve model.onnx --listen 0.0.0.0:8000 --keys keys.txt --tls-cert cert.pem --tls-key key.pem
  shoal serve model.onnx --max-batch 1 --max-waiting 64   no batches, refuse early
When it is ready it prints one line: ready URL. Ctrl-C or SIGTERM answers what was asked and ends it.)";

struct ServeFlags {
  std::vector<std::string> models = {std::string(kDefaultModel)};
  std::string listen = "127.0.0.1:8000";
  std::string grpc;
  std::string keys, tls_certificates, tls_key;  // files
  ModelFlags device;                            // its device and threads
  std::string preset, labels;
  int64_t max_batch = 0;
  int64_t max_waiting = 1024;
  int64_t max_wait_ms = 1000;
  int64_t max_delay_us = 0;
  int64_t max_connections = 512;
  int64_t max_body_mb = 64;
  bool triton_metrics = false;
};

Result<std::vector<std::string>> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  if (!file) return Status(Code::kNotFound, "cannot read labels from " + path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Result<std::vector<serve::ModelSource>> sources_of(const ServeFlags& flags) {
  std::vector<serve::ModelSource> sources;
  std::set<std::string> names;
  for (const std::string& text : flags.models) {
    SHOAL_ASSIGN(serve::ModelSource source, serve::parse_model_source(text));
    if (!names.insert(source.name).second) {
      return invalid("two models are called " + source.name + "; name one: NAME=" + source.model);
    }
    source.max_batch = flags.max_batch;
    if (!flags.preset.empty()) {
      SHOAL_ASSIGN(source.preprocess, load_preset(config_folder() / "presets", flags.preset));
    }
    if (!flags.labels.empty()) {
      SHOAL_ASSIGN(source.labels, read_lines(flags.labels));
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

void warn_of_strangers(const ServeFlags& flags, bool is_loopback) {
  if (is_loopback) return;
  if (flags.keys.empty()) {
    std::fprintf(stderr,
                 "warning: others reach this server, and may use it: there are no --keys\n");
  } else if (flags.tls_key.empty()) {
    std::fprintf(stderr,
                 "warning: keys travel over the network in plain text: there is no --tls-cert\n");
  }
}

Status read_trust(const ServeFlags& flags, serve::ServerOptions& options) {
  if (!flags.keys.empty()) {
    SHOAL_ASSIGN(options.keys, serve::Keys::read(flags.keys));
  }
  if (flags.tls_certificates.empty() != flags.tls_key.empty()) {
    return invalid("--tls-cert and --tls-key go together");
  }
  if (flags.tls_key.empty()) return {};
  SHOAL_ASSIGN(options.tls.certificates, net::read_text(flags.tls_certificates));
  SHOAL_ASSIGN(options.tls.key, net::read_secret(flags.tls_key));
  return {};
}

Result<serve::ServerOptions> options_of(const ServeFlags& flags) {
  serve::ServerOptions options;
  SHOAL_TRY(read_trust(flags, options));
  SHOAL_ASSIGN(const net::Interface where, net::parse_interface(flags.listen));
  const std::string& grpc = flags.grpc.empty() ? flags.listen : flags.grpc;
  SHOAL_ASSIGN(const net::Interface grpc_where, net::parse_interface(grpc));
  warn_of_strangers(flags, where.is_loopback && grpc_where.is_loopback);
  options.listen = flags.listen;
  options.grpc = flags.grpc;
  options.max_connections = static_cast<size_t>(flags.max_connections);
  options.limits.body_bytes = static_cast<uint64_t>(flags.max_body_mb) << 20;
  options.max_bodies = 4 * options.limits.body_bytes;
  options.engine.slots =
      flags.device.threads > 0 ? static_cast<size_t>(flags.device.threads) : usable_cores().size();
  options.engine.max_waiting = static_cast<size_t>(flags.max_waiting);
  options.engine.max_wait = std::chrono::milliseconds(flags.max_wait_ms);
  options.engine.max_delay = std::chrono::microseconds(flags.max_delay_us);
  options.version = SHOAL_VERSION;
  options.api.triton_metrics = flags.triton_metrics;
  options.api.any_name = !where.is_loopback || options.keys != nullptr;
  return options;
}

Outcome serve_models(const ServeFlags& flags) {
  Notification stop;
  const StopSignals signals([&] { stop.notify(); });
  SHOAL_OR_EXIT(const auto sources, Exit::kUsage, sources_of(flags));
  SHOAL_OR_EXIT(const serve::ServerOptions options, Exit::kUsage, options_of(flags));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.device));
  const auto server = serve::Server::start(sources, *device, options);
  if (!server.ok()) {
    const Code code = server.status().code();
    return fail(code == Code::kUnavailable       ? Exit::kNetwork
                : code == Code::kInvalidArgument ? Exit::kUsage
                                                 : Exit::kModel,
                server.status());
  }
  std::string ready = "ready " + (*server)->url();
  if (!flags.grpc.empty()) ready += " " + (*server)->grpc_url();
  std::printf("%s\n", ready.c_str());
  std::fflush(stdout);
  notify_supervisor("READY=1");
  stop.wait();
  notify_supervisor("STOPPING=1");
  if (!(*server)->drain()) return {Exit::kTimeout, "some requests were not answered in time"};
  return {};
}

}  // namespace

void add_serve(Command& app, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  Command* command = app.add_subcommand("serve", "Answer inference requests over HTTP");
  command->footer(kExamples);
  command->add_option("models", flags->models,
                      "ONNX files or zoo:NAME, each as MODEL or NAME=MODEL (default: zoo:digits)");
  command->add_option("--listen", flags->listen, "HOST:PORT, as numbers; port 0: any")
      ->capture_default_str();
  command->add_option("--grpc", flags->grpc,
                      "Answer gRPC, too: HOST:PORT, as numbers; port 0: any");
  command->add_option("--keys", flags->keys,
                      "Who may use it: a file of lines NAME KEY [REQUESTS PER SECOND]");
  command->add_option("--tls-cert", flags->tls_certificates,
                      "Certificate (PEM), with those that vouch for it after it");
  command->add_option("--tls-key", flags->tls_key, "Its key (PEM)");
  add_device_to(*command, flags->device.device, "What computes");
  command
      ->add_option("--threads", flags->device.threads,
                   "Threads of the device, and batches at a time; 0: one per core")
      ->check(in_range(0, 1024))
      ->capture_default_str();
  command->add_option("--tune", flags->device.tune, "How kernels are chosen: off, fast or full")
      ->check(one_of({"off", "fast", "full"}))
      ->capture_default_str();
  command->add_option("--preset", flags->preset,
                      "How pictures are prepared: imagenet, digits, ...");
  command->add_option("--labels", flags->labels, "Names of the classes, one a line");
  command
      ->add_option("--max-batch", flags->max_batch,
                   "Items of a batch; 1: no batches; 0: as long as larger ones are faster")
      ->check(in_range(0, 1024))
      ->capture_default_str();
  command
      ->add_option("--max-delay", flags->max_delay_us,
                   "Microseconds that a request waits for others to share its batch")
      ->check(in_range(0, 10'000'000))
      ->capture_default_str();
  command->add_option("--max-waiting", flags->max_waiting, "Requests of a model that may wait")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--max-wait", flags->max_wait_ms,
                   "Milliseconds that a request may have to wait; otherwise it is refused")
      ->check(in_range(1, 3'600'000))
      ->capture_default_str();
  command->add_option("--max-connections", flags->max_connections, "Connections at a time")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--max-body", flags->max_body_mb, "Megabytes of a request")
      ->check(in_range(1, 8192))
      ->capture_default_str();
  command->add_flag("--triton-metrics", flags->triton_metrics,
                    "Have all of Triton's names in /metrics, also those that promtool objects to");
  command->callback([flags, &action] { action = [flags] { return serve_models(*flags); }; });
}

}  // namespace shoal::cli
