// shoal serve: models behind the Open Inference Protocol.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "cli.h"
#include "cluster/cluster_view.h"
#include "cluster/stop_signals.h"
#include "exit_codes.h"
#include "model.h"
#include "shoal/base/machine.h"
#include "shoal/base/notification.h"
#include "shoal/base/supervisor.h"
#include "shoal/base/temporary_folder.h"
#include "shoal/base/usable_cores.h"
#include "shoal/base/user_folders.h"
#include "shoal/catalog/as_task.h"
#include "shoal/catalog/model_of.h"
#include "shoal/catalog/special_maker.h"
#include "shoal/data/presets.h"
#include "shoal/devices/devices.h"
#include "shoal/fit/network.h"
#include "shoal/fit/run_files.h"
#include "shoal/net/address.h"
#include "shoal/net/text_file.h"
#include "shoal/net/tls/tls_context.h"
#include "shoal/serve/http/client_pool.h"
#include "shoal/serve/http/server.h"
#include "shoal/serve/leader/leadership.h"
#include "shoal/train/step_graph.h"

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
  shoal serve --catalog lenet --budget energy=50,memory=2     a day with 50 J and 2 MB
  shoal serve model.onnx --cluster               split over the workers of your cluster
  shoal serve model.onnx --leader-store http://127.0.0.1:2379/name   one of several; one answers
  shoal serve --catalog lenet --cloud http://10.0.0.9:8000 --cloud-costs price=0.5 --budget money=1
When it is ready it prints one line: ready URL. Ctrl-C or SIGTERM answers what was asked and ends it.)";

struct ServeFlags {
  std::vector<std::string> models;
  std::string catalog, decision_log;  // a folder, a file
  std::vector<std::string> budgets;
  std::string special_data, special_format = "folder";  // to make special networks of
  std::string cloud, worker;                            // URLs
  std::vector<std::string> cloud_costs, worker_costs;
  std::string remote_key, remote_trust;  // files
  int64_t remote_timeout_ms = 1000;
  std::string listen = "127.0.0.1:8000";
  std::string grpc;
  std::string keys, tls_certificates, tls_key;  // files
  std::string leader_store, leader_trust;       // URLs, a file
  double ttl = 1.5;                             // seconds
  ModelFlags device;                            // its device and threads
  PlanFlags plan;                               // of a cluster in its place
  std::string preset, labels;
  int64_t max_batch = 0;
  int64_t max_waiting = 1024;
  int64_t max_wait_ms = 1000;
  int64_t max_delay_us = 0;
  int64_t max_connections = 512;
  int64_t max_body_mb = 64;
  bool triton_metrics = false;
};

// What all models have in common.
Status complete(const ServeFlags& flags, serve::ModelSource& source) {
  source.max_batch = flags.max_batch;
  if (!flags.preset.empty()) {
    SHOAL_ASSIGN(source.preprocess, load_preset(config_folder() / "presets", flags.preset));
  }
  if (!flags.labels.empty()) {
    SHOAL_ASSIGN(source.labels, fit::read_labels(flags.labels));
  }
  return {};
}

Result<std::vector<serve::ModelSource>> sources_of(const ServeFlags& flags) {
  std::vector<serve::ModelSource> sources;
  std::set<std::string> names;
  std::vector<std::string> models = flags.models;
  if (models.empty() && flags.catalog.empty()) models.emplace_back(kDefaultModel);
  for (const std::string& text : models) {
    SHOAL_ASSIGN(serve::ModelSource source, serve::parse_model_source(text));
    if (!names.insert(source.name).second) {
      return invalid("two models are called " + source.name + "; name one: NAME=" + source.model);
    }
    SHOAL_TRY(complete(flags, source));
    sources.push_back(std::move(source));
  }
  return sources;
}

struct Allowed {
  schedule::Budgets budgets{
      .joules = 1e12, .dollars = 0, .bytes = int64_t{1} << 50, .seconds = 86'400};
  double latency_ms = std::numeric_limits<double>::infinity();
  double requests = 0;  // of a day, of each task
};

// "energy=50": a name and a number. `example` is for the message.
Result<std::pair<std::string, double>> parse_amount(const std::string& flag,
                                                    const std::string& text,
                                                    const std::string& example) {
  const size_t equals = std::min(text.find('='), text.size());
  char* end = nullptr;
  const std::string digits = text.substr(std::min(equals + 1, text.size()));
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != 0 || !(value >= 0 && value <= 1e12)) {
    return invalid(flag + " " + text + ": write " + example);
  }
  return std::pair(text.substr(0, equals), value);
}

// "energy=50", in joules, dollars, megabytes, milliseconds, requests and hours.
Status take_budget(const std::string& text, Allowed& allowed) {
  SHOAL_ASSIGN(const auto amount, parse_amount("--budget", text, "energy=JOULES"));
  const auto& [name, value] = amount;
  if (name == "energy") {
    allowed.budgets.joules = value;
  } else if (name == "money") {
    allowed.budgets.dollars = value;
  } else if (name == "memory") {
    allowed.budgets.bytes = static_cast<int64_t>(value * 1e6);
  } else if (name == "latency") {
    allowed.latency_ms = value;
  } else if (name == "requests") {
    allowed.requests = value;
  } else if (name == "day") {
    allowed.budgets.seconds = value * 3600;
  } else {
    return invalid("--budget takes energy, money, memory, latency, requests and day, not " + name);
  }
  return {};
}

// "price=0.5,mbit=20": what it takes to ask another server.
Status take_costs(const std::string& flag, const std::vector<std::string>& texts,
                  schedule::Cloud& costs) {
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(const auto amount, parse_amount(flag, text, "price=DOLLARS_AN_HOUR"));
    const auto& [name, value] = amount;
    if (name == "price") {
      costs.dollars_per_second = value / 3600;
    } else if (name == "mbit" && value > 0) {
      costs.bytes_per_second = value * 1e6 / 8;
    } else if (name == "radio") {
      costs.radio_watts = value;
    } else if (name == "speed" && value > 0) {
      costs.speed = value;
    } else if (name == "round-trip") {
      costs.round_trip_ms = value;
    } else {
      return invalid(flag + " takes price, mbit, radio, speed and round-trip, not " + text);
    }
  }
  return {};
}

Status take_place(const ServeFlags& flags, const std::string& url, serve::PlaceOptions& place) {
  if (url.empty()) return {};
  std::string key, trusted;
  if (!flags.remote_key.empty()) {
    SHOAL_ASSIGN(key, net::read_secret(flags.remote_key));
    while (!key.empty() && key.back() == '\n') key.pop_back();
  }
  if (!flags.remote_trust.empty()) {
    SHOAL_ASSIGN(trusted, net::read_text(flags.remote_trust));
  }
  place.server.url = url;
  SHOAL_ASSIGN(place.server.client, serve::client_options(url, key, trusted));
  place.server.client.timeout = std::chrono::milliseconds(flags.remote_timeout_ms);
  return {};
}

// Prices are none unless they are given.
Status take_places(const ServeFlags& flags, serve::ServerOptions& options) {
  options.cloud.costs.dollars_per_second = 0;
  options.worker.costs = {.round_trip_ms = 1, .bytes_per_second = 12.5e6, .speed = 1};
  SHOAL_TRY(take_costs("--cloud-costs", flags.cloud_costs, options.cloud.costs));
  SHOAL_TRY(take_costs("--worker-costs", flags.worker_costs, options.worker.costs));
  SHOAL_TRY(take_place(flags, flags.cloud, options.cloud));
  return take_place(flags, flags.worker, options.worker);
}

bool gives_probabilities(const Graph& graph) {
  return train::scores_of(graph) != graph.outputs()[0];
}

// The networks for a few classes, which have the widest one to fall back to: both are in memory.
Status add_specials(const std::filesystem::path& folder, const catalog::Catalog& found,
                    size_t number, schedule::Task& task, serve::ChooserOptions& tasks) {
  const catalog::Variant& widest = found.variants[0];
  for (size_t i = 0; i < found.variants.size(); ++i) {
    const auto& special = found.variants[i].special;
    if (!special) continue;
    task.options[i].bytes += task.options[0].bytes;
    SHOAL_ASSIGN(const LoadedGraph general, catalog::open_variant(folder, widest, 1));
    const Graph& graph = general.graph;
    tasks.specials.push_back(
        {.id = {number, i},
         .network = {.classes = special->classes, .threshold = special->threshold},
         .general = widest.name,
         .classes = static_cast<size_t>(fit::classes_of(graph)),
         .probabilities = gives_probabilities(graph)});
  }
  return {};
}

// The variants of all tasks in the catalog, as models and for the scheduler.
Status add_tasks(const ServeFlags& flags, std::vector<serve::ModelSource>& sources,
                 serve::ChooserOptions& tasks) {
  if (flags.catalog.empty()) return {};
  Allowed allowed;
  for (const std::string& text : flags.budgets) SHOAL_TRY(take_budget(text, allowed));
  tasks.budgets = allowed.budgets;
  SHOAL_TRY(check(tasks.budgets));
  for (const auto& folder : catalog::catalogs_in(flags.catalog)) {
    SHOAL_ASSIGN(const catalog::Catalog found, catalog::read_catalog(folder));
    schedule::Task task = catalog::as_task(found, catalog::task_name(folder));
    task.latency_ms = allowed.latency_ms;
    task.requests_per_day = allowed.requests;
    for (const catalog::Variant& variant : found.variants) {
      const std::string name = serve::variant_model(task.name, variant.name);
      SHOAL_ASSIGN(serve::ModelSource source,
                   serve::parse_model_source(name + "=" + folder.string()));
      source.open = [folder, variant] { return catalog::model_of(folder, variant); };
      SHOAL_TRY(complete(flags, source));
      sources.push_back(std::move(source));
    }
    SHOAL_TRY(add_specials(folder, found, tasks.catalog.tasks.size(), task, tasks));
    tasks.catalog.tasks.push_back(std::move(task));
  }
  if (tasks.catalog.tasks.empty()) return invalid(flags.catalog + " has no catalog in it");
  std::set<std::string> names;
  for (const schedule::Task& task : tasks.catalog.tasks) names.insert(task.name);
  for (const serve::ModelSource& source : sources) {
    if (!names.insert(source.name).second) {
      return invalid("a model and a task, or two models, are called " + source.name);
    }
  }
  return check(tasks.catalog);
}

// Lets networks be made for the classes that are seen, of the images that are given for that.
Status add_makers(const ServeFlags& flags, serve::ServerOptions& options) {
  if (flags.special_data.empty()) return {};
  const auto folders = catalog::catalogs_in(flags.catalog);
  if (folders.size() != 1) return invalid("--special-data is for a catalog of one task");
  SHOAL_ASSIGN(const catalog::Catalog found, catalog::read_catalog(folders[0]));
  const catalog::Variant widest = found.variants[0];
  SHOAL_ASSIGN(const LoadedGraph general, catalog::open_variant(folders[0], widest, 1));
  catalog::SpecialMakerOptions making{.folder = folders[0]};
  making.how.recipe.data = flags.special_data;
  making.how.recipe.format = flags.special_format;
  making.how.cache = cache_folder() / "features";
  if (!flags.preset.empty()) {
    SHOAL_ASSIGN(making.how.recipe.preprocess,
                 load_preset(config_folder() / "presets", flags.preset));
  }
  SHOAL_TRY(check(making.how.recipe));
  making.device = [] { return shoal::make_device("cpu", {.cpu = {.threads = 1}}); };
  options.tasks.makes = {{.task = 0,
                          .general = widest.name,
                          .classes = static_cast<size_t>(fit::classes_of(general.graph)),
                          .probabilities = gives_probabilities(general.graph)}};
  const auto maker = std::make_shared<catalog::SpecialMaker>(std::move(making));
  options.make_special = [maker, widest](
                             size_t, const std::vector<size_t>& classes,
                             const std::atomic<bool>& cancel) -> Result<serve::MadeSpecial> {
    SHOAL_ASSIGN(TemporaryFolder made_in, TemporaryFolder::make());
    const auto folder = std::make_shared<const TemporaryFolder>(std::move(made_in));
    const auto file = folder->path() / "special.onnx";
    SHOAL_ASSIGN(const catalog::Variant made,
                 maker->make({classes.begin(), classes.end()}, file, &cancel));
    const schedule::Task task = catalog::as_task({{widest, made}}, "");
    serve::MadeSpecial special{
        .option = task.options[1],
        .network = {.classes = made.special->classes, .threshold = made.special->threshold},
        .open = [folder, file] { return open_model(file.string()); }};
    special.option.bytes += task.options[0].bytes;  // both are in memory
    return special;
  };
  return {};
}

// A line for each decision, at once: who looks on sees them.
Status open_log(const std::string& path, serve::ChooserOptions& tasks) {
  if (path.empty()) return {};
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "ae"), [](std::FILE* opened) {
    if (opened != nullptr) std::fclose(opened);
  });
  if (file == nullptr) return invalid("cannot write " + path);
  std::setvbuf(file.get(), nullptr, _IOLBF, BUFSIZ);
  tasks.log = [file](const std::string& line) { std::fprintf(file.get(), "%s\n", line.c_str()); };
  return {};
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

// Null: no other server may answer in its place.
Result<std::unique_ptr<serve::Leadership>> leadership_of(const ServeFlags& flags) {
  if (flags.leader_store.empty()) return std::unique_ptr<serve::Leadership>();
  serve::LeadershipOptions options;
  SHOAL_ASSIGN(options.store, serve::parse_etcd(flags.leader_store));
  if (flags.leader_store.find("https://") != std::string::npos) {
    std::string trusted;
    if (!flags.leader_trust.empty()) {
      SHOAL_ASSIGN(trusted, net::read_text(flags.leader_trust));
    }
    SHOAL_ASSIGN(net::ContextPtr context, net::make_client_context(trusted));
    options.store.tls = std::shared_ptr<SSL_CTX>(context.release(), SSL_CTX_free);
  }
  options.ttl = std::chrono::milliseconds(static_cast<int64_t>(1e3 * flags.ttl));
  options.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  return std::make_unique<serve::Leadership>(std::move(options));
}

// The devices of this machine, of which one computes.
serve::DeviceList devices_here(const std::string& used, int threads) {
  const Machine machine = describe_machine();
  serve::DeviceList list;
  const std::string kind_used = used.substr(0, used.find(':'));
  for (const DeviceKind& kind : device_kinds()) {
    const bool computes = kind.name == kind_used;
    if (!computes && !kind.is_local) continue;
    serve::DeviceEntry& one = list.devices.emplace_back();
    one = {.name = computes ? used : kind.name,
           .role = computes ? "computes" : "idle",
           .kind = kind.name == "cpu" ? machine.processor : kind.summary};
    if (!computes) continue;
    one.threads = threads;
    one.load = machine.load;
    one.memory_bytes = machine.memory_bytes;
    one.free_bytes = machine.free_bytes;
  }
  std::stable_partition(list.devices.begin(), list.devices.end(),
                        [](const auto& one) { return one.role == "computes"; });
  return list;
}

// What computes: a device of this machine, or a cluster. `devices` is what the page shows of it.
Result<std::unique_ptr<Device>> open_device(const ServeFlags& flags,
                                            std::function<serve::DeviceList()>& devices) {
  if (flags.plan.is_on_cluster()) {
    SHOAL_ASSIGN(WatchedCluster cluster, open_watched_cluster(flags.plan));
    devices = [view = cluster.view] { return view->list(); };
    return std::move(cluster.device);
  }
  const int threads =
      flags.device.threads > 0 ? flags.device.threads : static_cast<int>(usable_cores().size());
  devices = [name = flags.device.device, threads] { return devices_here(name, threads); };
  return make_device(flags.device);
}

Outcome serve_models(const ServeFlags& flags) {
  Notification stop;
  const StopSignals signals([&] { stop.notify(); });
  SHOAL_OR_EXIT(auto sources, Exit::kUsage, sources_of(flags));
  SHOAL_OR_EXIT(serve::ServerOptions options, Exit::kUsage, options_of(flags));
  const Status added = add_tasks(flags, sources, options.tasks);
  if (!added.ok()) return fail(Exit::kUsage, added);
  const Status makes = add_makers(flags, options);
  if (!makes.ok()) return fail(Exit::kUsage, makes);
  const Status placed = take_places(flags, options);
  if (!placed.ok()) return fail(Exit::kUsage, placed);
  const Status logged = open_log(flags.decision_log, options.tasks);
  if (!logged.ok()) return fail(Exit::kUsage, logged);
  SHOAL_OR_EXIT(const auto leadership, Exit::kUsage, leadership_of(flags));
  if (leadership) options.leads = [&] { return leadership->leads(); };
  const auto opened = open_device(flags, options.api.devices);
  if (!opened.ok()) {
    return fail(
        flags.plan.is_on_cluster() ? exit_of(Doing::kConnect, opened.status()) : Exit::kDevice,
        opened.status());
  }
  const std::unique_ptr<Device>& device = *opened;
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
  if (leadership) leadership->stand((*server)->url());
  stop.wait();
  notify_supervisor("STOPPING=1");
  const bool is_drained = (*server)->drain();
  if (leadership) leadership->resign();  // not before: it answers what it was asked
  if (!is_drained) return {Exit::kTimeout, "some requests were not answered in time"};
  return {};
}

void add_leader_flags(Command& command, ServeFlags& flags) {
  Option* store = command.add_option(
      "--leader-store", flags.leader_store,
      "One of several servers answers, the others stand by: etcd, as http://HOST:PORT[,...]/NAME");
  command
      .add_setting("--ttl", flags.ttl, "Seconds after which another server takes over",
                   in_range(0.2, 600.0))
      ->needs(store);
  command
      .add_option("--leader-trust", flags.leader_trust,
                  "Certificates (PEM) that etcd's has to lead to; without: those of the system")
      ->needs(store);
}

void add_place_flags(Command& command, ServeFlags& flags, Option* catalog) {
  Option* cloud = command.add_option("--cloud", flags.cloud,
                                     "Another server with the same catalog, asked where that is "
                                     "worth its money and energy");
  Option* worker = command.add_option(
      "--worker", flags.worker, "A server nearby with the same catalog, which costs no money");
  constexpr const char* kCosts =
      "What asking it takes: price=$ an hour of computing, mbit of the uplink, radio=W while "
      "sending, speed times this device's, round-trip=MS";
  command.add_option("--cloud-costs", flags.cloud_costs, kCosts)->delimiter(',')->needs(cloud);
  command.add_option("--worker-costs", flags.worker_costs, kCosts)->delimiter(',')->needs(worker);
  command.add_option("--remote-key", flags.remote_key, "A file with the key that they ask for");
  command.add_option("--remote-trust", flags.remote_trust,
                     "Certificates (PEM) that theirs have to lead to; default: the system's");
  command.add_setting("--remote-timeout", flags.remote_timeout_ms,
                      "Milliseconds until a request that they do not answer is answered here",
                      in_range(1, 600'000));
  cloud->needs(catalog);
  worker->needs(catalog);
}

}  // namespace

void add_serve(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "serve", "Answer inference requests over HTTP", kExamples, serve_models);
  command.add_option("models", flags.models,
                     "ONNX files or zoo:NAME, each as MODEL or NAME=MODEL (default: zoo:digits)");
  Option* catalog = command.add_option(
      "--catalog", flags.catalog,
      "A folder of variants, or of such folders, each of which is a model under its name");
  command
      .add_option(
          "--budget", flags.budgets,
          "What variants may cost: energy=J, money=$, memory=MB, latency=MS; day=HOURS that "
          "energy and money last; requests=N that are expected in it")
      ->delimiter(',')
      ->needs(catalog);
  Option* special = command
                        .add_option("--special-data", flags.special_data,
                                    "Images from which networks are made, in the background, for "
                                    "the classes that are seen")
                        ->needs(catalog);
  command.add_setting("--special-format", flags.special_format, "Of these images, as in train")
      ->needs(special);
  add_place_flags(command, flags, catalog);
  command
      .add_option("--decision-log", flags.decision_log, "A file for every decision and its reasons")
      ->needs(catalog);
  command.add_setting("--listen", flags.listen, "HOST:PORT, as numbers; port 0: any");
  command.add_option("--grpc", flags.grpc, "Answer gRPC, too: HOST:PORT, as numbers; port 0: any");
  command.add_option("--keys", flags.keys,
                     "Who may use it: a file of lines NAME KEY [REQUESTS PER SECOND]");
  command.add_option("--tls-cert", flags.tls_certificates,
                     "Certificate (PEM), with those that vouch for it after it");
  command.add_option("--tls-key", flags.tls_key, "Its key (PEM)");
  add_leader_flags(command, flags);
  Option* device = add_device_to(command, flags.device.device, "What computes");
  flags.plan.add_cluster_to(command)->excludes(device);
  command.add_setting("--threads", flags.device.threads,
                      "Threads of the device, and batches at a time; 0: one per core",
                      in_range(0, 1024));
  command.add_setting("--tune", flags.device.tune, "How kernels are chosen: off, fast or full",
                      one_of({"off", "fast", "full"}));
  command.add_option("--preset", flags.preset, "How pictures are prepared: imagenet, digits, ...");
  command.add_option("--labels", flags.labels, "Names of the classes, one a line");
  command.add_setting("--max-batch", flags.max_batch,
                      "Items of a batch; 1: no batches; 0: as long as larger ones are faster",
                      in_range(0, 1024));
  command.add_setting("--max-delay", flags.max_delay_us,
                      "Microseconds that a request waits for others to share its batch",
                      in_range(0, 10'000'000));
  command.add_setting("--max-waiting", flags.max_waiting, "Requests of a model that may wait",
                      in_range(1, 1 << 20));
  command.add_setting("--max-wait", flags.max_wait_ms,
                      "Milliseconds that a request may have to wait; otherwise it is refused",
                      in_range(1, 3'600'000));
  command.add_setting("--max-connections", flags.max_connections, "Connections at a time",
                      in_range(1, 1 << 20));
  command.add_setting("--max-body", flags.max_body_mb, "Megabytes of a request", in_range(1, 8192));
  command.add_flag("--triton-metrics", flags.triton_metrics,
                   "Have all of Triton's names in /metrics, also those that promtool objects to");
}

}  // namespace shoal::cli
