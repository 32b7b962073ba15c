#include "apps/cluster_commands/serve.h"

#include <cstdio>

#include "shoal/base/files/user_folders.h"
#include "shoal/base/machine/machine.h"
#include "shoal/cluster/net/address.h"
#include "shoal/cluster/net/text_file.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/inputs/presets.h"
#include "shoal/engine/run/run_files.h"
#include "shoal/engine/session/model.h"
#include "shoal/serve/catalog/tasks.h"
#include "shoal/variants/catalog/as_task.h"

namespace shoal::serve {
namespace {

// What all models have in common.
Status complete(const Settings& settings, ModelSource& source) {
  source.max_batch = settings.max_batch;
  if (!settings.preset.empty()) {
    SHOAL_ASSIGN(source.preprocess, load_preset(config_folder() / "presets", settings.preset));
  }
  if (!settings.labels.empty()) {
    SHOAL_ASSIGN(source.labels, fit::read_labels(settings.labels));
  }
  return {};
}

Result<std::vector<ModelSource>> sources_of(const Settings& settings) {
  std::vector<std::string> models = settings.models;
  if (models.empty() && settings.catalog.empty()) models.emplace_back(kDigitsModel);
  SHOAL_ASSIGN(auto sources, parse_model_sources(models));
  for (ModelSource& source : sources) SHOAL_TRY(complete(settings, source));
  return sources;
}

Status take_place(const Settings& settings, const std::string& url, PlaceOptions& place) {
  if (url.empty()) return {};
  SHOAL_ASSIGN(place.server, remote_server(url, settings.remote_key, settings.remote_trust,
                                           std::chrono::milliseconds(settings.remote_timeout_ms)));
  return {};
}

// Prices are 0 unless given.
Status take_places(const Settings& settings, ServerOptions& options) {
  options.cloud.costs.dollars_per_second = 0;
  options.worker.costs = {.round_trip_ms = 1, .bytes_per_second = 12.5e6, .speed = 1};
  SHOAL_TRY(parse_costs("--cloud-costs", settings.cloud_costs, options.cloud.costs));
  SHOAL_TRY(parse_costs("--worker-costs", settings.worker_costs, options.worker.costs));
  SHOAL_TRY(take_place(settings, settings.cloud, options.cloud));
  return take_place(settings, settings.worker, options.worker);
}

// The variants of all tasks in the catalog, as models and for the scheduler.
Status take_tasks(const Settings& settings, Prepared& ready) {
  if (settings.catalog.empty()) return {};
  SHOAL_ASSIGN(const Allowed allowed, parse_budgets("--budget", settings.budgets));
  return add_tasks(
      settings.catalog, allowed, [&](ModelSource& source) { return complete(settings, source); },
      ready.sources, ready.options.tasks);
}

// Lets networks be made for the classes that are seen, of the images that are given for that.
Status take_makers(const Settings& settings, ServerOptions& options) {
  if (settings.special_data.empty()) return {};
  const auto folders = catalog::catalogs_in(settings.catalog);
  if (folders.size() != 1) return invalid("--special-data is for a catalog of one task");
  SpecialsOptions specials{.folder = folders[0], .how = {}, .device = [] {
                             return make_device("cpu", {.cpu = {.threads = 1}});
                           }};
  specials.how.recipe.data = settings.special_data;
  specials.how.recipe.format = settings.special_format;
  specials.how.cache = cache_folder() / "features";
  if (!settings.preset.empty()) {
    SHOAL_ASSIGN(specials.how.recipe.preprocess,
                 load_preset(config_folder() / "presets", settings.preset));
  }
  return add_specials_maker(specials, options);
}

// A line for each decision, flushed at once.
Status open_log(const std::string& path, ChooserOptions& tasks) {
  if (path.empty()) return {};
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "ae"), [](std::FILE* opened) {
    if (opened != nullptr) std::fclose(opened);
  });
  if (file == nullptr) return invalid("cannot write " + path);
  std::setvbuf(file.get(), nullptr, _IOLBF, BUFSIZ);
  tasks.log = [file](const std::string& line) { std::fprintf(file.get(), "%s\n", line.c_str()); };
  return {};
}

void warn_of_strangers(const Settings& settings, bool is_loopback) {
  if (is_loopback) return;
  if (settings.keys.empty()) {
    settings.log("warning: others reach this server, and may use it: there are no --keys");
  } else if (settings.tls_key.empty()) {
    settings.log("warning: keys travel over the network in plain text: there is no --tls-cert");
  }
}

Status read_trust(const Settings& settings, ServerOptions& options) {
  if (!settings.keys.empty()) {
    SHOAL_ASSIGN(options.keys, Keys::read(settings.keys));
  }
  if (settings.tls_certificates.empty() != settings.tls_key.empty()) {
    return invalid("--tls-cert and --tls-key go together");
  }
  if (settings.tls_key.empty()) return {};
  SHOAL_ASSIGN(options.tls.certificates, net::read_text(settings.tls_certificates));
  SHOAL_ASSIGN(options.tls.key, net::read_secret(settings.tls_key));
  return {};
}

Result<ServerOptions> server_options(const Settings& settings) {
  ServerOptions options;
  SHOAL_TRY(read_trust(settings, options));
  SHOAL_ASSIGN(const net::Interface where, net::parse_interface(settings.listen));
  const std::string& grpc = settings.grpc.empty() ? settings.listen : settings.grpc;
  SHOAL_ASSIGN(const net::Interface grpc_where, net::parse_interface(grpc));
  warn_of_strangers(settings, where.is_loopback && grpc_where.is_loopback);
  options.listen = settings.listen;
  options.grpc = settings.grpc;
  options.max_connections = static_cast<size_t>(settings.max_connections);
  options.limits.body_bytes = static_cast<uint64_t>(settings.max_body_mb) << 20;
  options.max_bodies = 4 * options.limits.body_bytes;
  options.engine.slots = static_cast<size_t>(settings.slots());
  options.engine.max_waiting = static_cast<size_t>(settings.max_waiting);
  options.engine.max_wait = std::chrono::milliseconds(settings.max_wait_ms);
  options.engine.max_delay = std::chrono::microseconds(settings.max_delay_us);
  options.version = settings.version;
  options.api.triton_metrics = settings.triton_metrics;
  options.api.any_name = !where.is_loopback || options.keys != nullptr;
  return options;
}

Result<std::unique_ptr<Leadership>> leadership_of(const Settings& settings) {
  if (settings.leader_store.empty()) return std::unique_ptr<Leadership>();
  LeadershipOptions options;
  SHOAL_ASSIGN(options.store, open_etcd(settings.leader_store, settings.leader_trust));
  options.ttl = std::chrono::milliseconds(static_cast<int64_t>(1e3 * settings.ttl));
  options.log = settings.log;
  return std::make_unique<Leadership>(std::move(options));
}

constexpr const char* kCosts =
    "What asking it takes: price=$ an hour of computing, mbit of the uplink, radio=W while "
    "sending, speed times this device's, round-trip=MS";

}  // namespace

int Settings::slots() const {
  return threads > 0 ? threads : static_cast<int>(usable_cores().size());
}

Result<Prepared> prepare(const Settings& settings) {
  Prepared ready;
  SHOAL_ASSIGN(ready.sources, sources_of(settings));
  SHOAL_ASSIGN(ready.options, server_options(settings));
  SHOAL_TRY(take_tasks(settings, ready));
  SHOAL_TRY(take_makers(settings, ready.options));
  SHOAL_TRY(take_places(settings, ready.options));
  SHOAL_TRY(open_log(settings.decision_log, ready.options.tasks));
  SHOAL_ASSIGN(ready.leadership, leadership_of(settings));
  if (ready.leadership) {
    ready.options.leads = [leadership = ready.leadership.get()] { return leadership->leads(); };
  }
  return ready;
}

SettingList catalog_settings(Settings& s) {
  return {
      Setting("catalog", s.catalog,
              "A folder of variants, or of such folders, each of which is a model under its name"),
      Setting("budget", s.budgets,
              "What variants may cost: energy=J (estimated), money=$, memory=MB, latency=MS; "
              "day=HOURS that "
              "energy and money last; requests=N that are expected in it")
          .separated_by_commas()
          .with("catalog"),
      Setting("special-data", s.special_data,
              "Images from which networks are made, in the background, for the classes that are "
              "seen")
          .with("catalog"),
      Setting("special-format", s.special_format, "Of these images, as in train")
          .with("special-data"),
      Setting("cloud", s.cloud,
              "Another server with the same catalog, asked where that is worth its money and "
              "energy")
          .with("catalog"),
      Setting("worker", s.worker, "A server nearby with the same catalog, which costs no money")
          .with("catalog"),
      Setting("cloud-costs", s.cloud_costs, kCosts).separated_by_commas().with("cloud"),
      Setting("worker-costs", s.worker_costs, kCosts).separated_by_commas().with("worker"),
      Setting("remote-key", s.remote_key, "A file with the key that they ask for"),
      Setting("remote-trust", s.remote_trust,
              "Certificates (PEM) that theirs have to lead to; default: the system's"),
      Setting("remote-timeout", s.remote_timeout_ms,
              "Milliseconds until a request that they do not answer is answered here")
          .in(1, 600'000),
      Setting("decision-log", s.decision_log, "A file for every decision and its reasons")
          .with("catalog"),
  };
}

SettingList access_settings(Settings& s) {
  return {
      Setting("listen", s.listen, "HOST:PORT, as numbers; port 0: any"),
      Setting("grpc", s.grpc, "Answer gRPC, too: HOST:PORT, as numbers; port 0: any"),
      Setting("keys", s.keys, "Who may use it: a file of lines NAME KEY [REQUESTS PER SECOND]"),
      Setting("tls-cert", s.tls_certificates,
              "Certificate (PEM), with those that vouch for it after it"),
      Setting("tls-key", s.tls_key, "Its key (PEM)"),
      Setting("leader-store", s.leader_store,
              "One of several servers answers, the others stand by: etcd, as "
              "http://HOST:PORT[,...]/NAME"),
      Setting("ttl", s.ttl, "Seconds after which another server takes over")
          .in(0.2, 600.0)
          .with("leader-store"),
      Setting("leader-trust", s.leader_trust,
              "Certificates (PEM) that etcd's has to lead to; without: those of the system")
          .with("leader-store"),
  };
}

SettingList answer_settings(Settings& s) {
  return {
      Setting("preset", s.preset, "How pictures are prepared: imagenet, digits, ..."),
      Setting("labels", s.labels, "Names of the classes, one a line"),
      Setting("max-batch", s.max_batch,
              "Items of a batch; 1: no batches; 0: as long as larger ones are faster")
          .in(0, 1024)
          .showing_default(),
      Setting("max-delay", s.max_delay_us,
              "Microseconds that a request waits for others to share its batch")
          .in(0, 10'000'000)
          .showing_default(),
      Setting("max-waiting", s.max_waiting, "Requests of a model that may wait").in(1, 1 << 20),
      Setting("max-wait", s.max_wait_ms,
              "Milliseconds that a request may have to wait; otherwise it is refused")
          .in(1, 3'600'000),
      Setting("max-connections", s.max_connections, "Connections at a time").in(1, 1 << 20),
      Setting("max-body", s.max_body_mb, "Megabytes of a request").in(1, 8192),
      Setting("triton-metrics", s.triton_metrics,
              "Have all of Triton's names in /metrics, also those that promtool objects to"),
  };
}

}  // namespace shoal::serve
