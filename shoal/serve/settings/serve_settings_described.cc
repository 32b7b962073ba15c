// What the settings of a server mean, and what they may be.
#include "shoal/serve/settings/serve_settings.h"

namespace shoal::serve {
namespace {

constexpr const char* kCosts =
    "What asking it takes: price=$ an hour of computing, mbit of the uplink, radio=W while "
    "sending, speed times this device's, round-trip=MS";

}  // namespace

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
