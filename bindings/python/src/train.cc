// Training and evaluation. shoal/_train.py makes objects of the returned dictionaries.
#include "shoal/train/run/loop/train.h"

#include <pybind11/stl.h>

#include <atomic>
#include <exception>

#include "array.h"
#include "dataset.h"
#include "device.h"
#include "errors.h"
#include "gil.h"
#include "model.h"
#include "parts.h"
#ifdef SHOAL_HAS_CLUSTER
#include "shoal/cluster/training/train_cluster.h"
#endif

namespace py = pybind11;

namespace shoal::python {
namespace {

using fit::TrainingOptions;

// The value of an option that is one of several names.
template <class Find>
void take_named(py::dict& options, const char* name, Find find, auto& value) {
  std::string text;
  take(options, name, text);
  if (text.empty()) return;
  const auto found = find(text);
  if (!found) raise(invalid("there is no " + std::string(name) + " " + text));
  value = *found;
}

// By the names that `shoal train` has for them.
TrainingOptions take_options(py::dict options) {
  TrainingOptions o;
  take(options, "from_scratch", o.from_scratch);
  take(options, "retarget", o.retarget);
  take(options, "freeze", o.freeze);
  take(options, "limit", o.limit);
  take(options, "hold_out", o.hold_out);
  take(options, "loaders", o.loaders);
  take(options, "epochs", o.epochs);
  take(options, "batch", o.batch);
  take(options, "seed", o.seed);
  take(options, "bf16", o.bf16);
  take(options, "memory_bytes", o.memory_bytes);
  take(options, "feature_cache_bytes", o.feature_cache_bytes);
  take_named(options, "optimizer", train::find_rule, o.optimizer.rule);
  take(options, "rate", o.optimizer.rate);
  take(options, "momentum", o.optimizer.momentum);
  take(options, "nesterov", o.optimizer.nesterov);
  take(options, "weight_decay", o.optimizer.weight_decay);
  take(options, "clip", o.optimizer.max_norm);
  take_named(options, "schedule", train::find_schedule, o.schedule);
  take(options, "warm_up", o.warm_up);
  take(options, "drop_every", o.drop_every);
  take(options, "drop", o.drop);
  take(options, "smoothing", o.loss.smoothing);
  take(options, "focal", o.loss.focal);
  take(options, "penalties", o.penalties);
  take(options, "teacher", o.teacher);
  take(options, "distill", o.loss.distill);
  take(options, "temperature", o.loss.temperature);
  take(options, "patience", o.patience);
  take(options, "flip", o.augment.flip);
  take(options, "shift", o.augment.shift);
  take(options, "random_crop", o.augment.crop);
  take(options, "noise", o.augment.noise);
  take(options, "checkpoint_every", o.checkpoint_every);
  take(options, "resume", o.resume);
  o.preprocess = take_preprocess(options);
  refuse_rest(options);
  return o;
}

// Training as Python sees it: a callback after each epoch, and Ctrl-C after each step. An exception
// of the callback ends training after the step that is under way, and is raised to the caller.
// Callbacks come on the thread that called train(), which has given up the GIL.
class Watch {
 public:
  explicit Watch(py::object on_epoch) : on_epoch_(std::move(on_epoch)) {}

  fit::TrainingCallbacks callbacks() {
    return {.on_step = [this](const fit::StepReport&) { look(); },
            .on_epoch =
                [this](const fit::EpochReport& report) {
                  call([&] { tell(report.progress.results.back()); });
                  return Status();
                },
            .cancel = &cancelled_};
  }

  // Has the user interrupted the program?
  void look() {
    call([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
  }
  const std::atomic<bool>* cancelled() const { return &cancelled_; }

  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  void tell(const fit::EpochResult& epoch) const {
    if (on_epoch_.is_none()) return;
    on_epoch_(epoch.loss, epoch.top1, epoch.held_out_loss, epoch.held_out_top1, epoch.seconds);
  }
  template <class Function>
  // The first exception counts. None may pass through the loop below, which does not know Python.
  void call(Function function) {
    const AcquiredGil gil;
    try {
      function();
    } catch (py::error_already_set&) {
      if (!raised_) raised_ = std::current_exception();
      cancelled_ = true;
    }
  }

  py::object on_epoch_;
  std::atomic<bool> cancelled_ = false;
  std::exception_ptr raised_;
};

// More classes than kMaxClasses have no confusion matrix: the array is then [0, 0].
py::dict dict_of(const fit::Evaluation& evaluation) {
  const auto classes = static_cast<py::ssize_t>(evaluation.classes());
  const bool counted = evaluation.classes() <= fit::Evaluation::kMaxClasses;
  py::array_t<int64_t> confusions({counted ? classes : 0, counted ? classes : 0});
  auto counts = confusions.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < counts.shape(0); ++i) {
    for (py::ssize_t j = 0; j < counts.shape(1); ++j) {
      counts(i, j) = static_cast<int64_t>(
          evaluation.confusions(static_cast<size_t>(i), static_cast<size_t>(j)));
    }
  }
  py::list mistakes;
  for (const fit::Mistake& mistake : evaluation.mistakes()) {
    mistakes.append(
        py::make_tuple(mistake.example, mistake.label, mistake.answer, mistake.probability));
  }
  return py::dict(py::arg("images") = evaluation.images(), py::arg("top1") = evaluation.top1(),
                  py::arg("top5") = evaluation.top5(), py::arg("loss") = evaluation.loss(),
                  py::arg("confusions") = confusions, py::arg("mistakes") = mistakes);
}

const char* name_of(fit::StopReason reason) {
  switch (reason) {
    case fit::StopReason::kDone:
      return "done";
    case fit::StopReason::kPatience:
      return "patience";
    case fit::StopReason::kCancelled:
      return "cancelled";
  }
  return "done";
}

Result<fit::TrainingResult> train_on(const std::string& device, int threads, const Model& model,
                                     std::shared_ptr<const Dataset> training,
                                     std::shared_ptr<const Dataset> held_out,
                                     const TrainingOptions& options,
                                     const fit::TrainingCallbacks& callbacks) {
  SHOAL_TRY(fit::check(options));
  // Kernels are chosen by estimate, so that training can be repeated bit by bit.
  SHOAL_ASSIGN(const auto opened, open_device(device, threads, Tune::kOff));
  SHOAL_ASSIGN(fit::TrainingData data,
               fit::make_training_data(std::move(training), std::move(held_out), options));
  return fit::train(*opened, model, std::move(data), options, callbacks);
}

py::dict train(const Model& model, const PyDataset& training, const PyDataset* held_out,
               const std::string& out, const std::string& checkpoint, py::dict named,
               const std::string& device, int threads, py::object on_epoch) {
  TrainingOptions options = take_options(std::move(named));
  options.out = out;
  options.checkpoint = checkpoint;
  Watch watch(std::move(on_epoch));
  auto trained = [&] {
    const ReleasedGil released;
    return train_on(device, threads, model, training.data,
                    held_out == nullptr ? nullptr : held_out->data, options, watch.callbacks());
  }();
  // The caller's exception comes before the failure or the result that it led to.
  watch.rethrow();
  const fit::TrainingResult result = unwrap(std::move(trained));
  py::list epochs;
  for (const fit::EpochResult& epoch : result.progress.results) {
    epochs.append(py::make_tuple(epoch.loss, epoch.top1, epoch.held_out_loss, epoch.held_out_top1,
                                 epoch.seconds));
  }
  return py::dict(py::arg("epochs") = epochs, py::arg("evaluation") = dict_of(result.evaluation),
                  py::arg("stopped") = name_of(result.reason),
                  py::arg("images_per_second") = result.images_per_second,
                  py::arg("skipped") = result.skipped);
}

#ifdef SHOAL_HAS_CLUSTER
// By the names that `shoal train --cluster` has for them. What one device takes is left.
train_cluster::Options take_cluster_options(py::dict& named) {
  train_cluster::Options o;
  take(named, "steps", o.steps);
  take(named, "local_steps", o.local_steps);
  int64_t micro_batches = int64_t{1} << o.levels;
  take(named, "micro_batches", micro_batches);
  for (o.levels = 0; int64_t{1} << o.levels < micro_batches && o.levels < 13;) ++o.levels;
  if (micro_batches != int64_t{1} << o.levels) {
    raise(invalid("micro_batches must be a power of two, at most 4096"));
  }
  std::string codec = "f32";
  take(named, "codec", codec);
  o.codec = learn::find_codec(codec);
  if (!o.codec && codec != "auto") raise(invalid("there is no codec " + codec));
  take(named, "all_workers", o.all_workers);
  if (named.contains("fixed_shares")) take(named, "fixed_shares", o.fixed_shares.emplace());
  take(named, "slack", o.slack);
  bool lets_sleep = false;
  take(named, "let_sleep", lets_sleep);
  o.keep_awake = !lets_sleep;
  return o;
}

py::dict dict_of(const train_cluster::Figures& figures) {
  py::list lost;
  for (const Status& why : figures.lost) lost.append(std::string(why.message()));
  const py::dict cluster(
      py::arg("steps") = figures.steps, py::arg("resumed_at") = figures.resumed_at,
      py::arg("workers") = figures.workers, py::arg("together") = figures.together,
      py::arg("codec") = std::string(learn::name_of(figures.codec)),
      py::arg("step_seconds") = figures.step_seconds,
      py::arg("predicted_seconds") = figures.predicted_seconds,
      py::arg("single_seconds") = figures.single_seconds, py::arg("bytes_per_step") = figures.bytes,
      py::arg("loss") = figures.loss, py::arg("weights_sha256") = figures.weights_sha256,
      py::arg("lost") = lost);
  return py::dict(py::arg("evaluation") = dict_of(figures.evaluation),
                  py::arg("cluster") = cluster);
}

py::dict train_on_cluster(const Model& model, const PyDataset& training, const PyDataset* held_out,
                          const std::string& out, const std::string& checkpoint, py::dict named,
                          const std::string& folder, int threads) {
  train_cluster::Options options = take_cluster_options(named);
  options.fit = take_options(std::move(named));
  options.fit.out = out;
  options.fit.checkpoint = checkpoint;
  Watch watch{py::none()};
  options.on_step = [&](int64_t, double) { watch.look(); };
  options.cancelled = [&] { return watch.cancelled()->load(); };
  auto trained = [&]() -> Result<train_cluster::Figures> {
    const ReleasedGil released;
    SHOAL_TRY(train_cluster::check(options));
    SHOAL_ASSIGN(const auto device, open_device("cpu", threads, Tune::kOff));
    SHOAL_ASSIGN(fit::TrainingData data,
                 fit::make_training_data(
                     training.data, held_out == nullptr ? nullptr : held_out->data, options.fit));
    const cluster::ClusterFolder at(folder.empty() ? cluster::default_cluster_folder()
                                                   : std::filesystem::path(folder));
    SHOAL_ASSIGN(const auto connection, cluster::ClusterConnection::open(at));
    return train_cluster::train(*connection, *device, model, std::move(data), options);
  }();
  watch.rethrow();
  return dict_of(unwrap(std::move(trained)));
}
#else
py::dict train_on_cluster(const Model&, const PyDataset&, const PyDataset*, const std::string&,
                          const std::string&, const py::dict&, const std::string&, int) {
  raise(Status(Code::kUnsupported, "this shoal was built without clusters"));
}
#endif

py::dict evaluate(const Model& model, const PyDataset& dataset, py::dict named,
                  const std::string& device, int threads) {
  fit::EvaluationOptions options;
  take(named, "limit", options.limit);
  take(named, "batch", options.batch);
  options.preprocess = take_preprocess(named);
  refuse_rest(named);
  Watch watch{py::none()};
  auto evaluated = [&]() -> Result<fit::Evaluation> {
    const ReleasedGil released;
    options.progress = [&](size_t, size_t) { watch.look(); };
    options.cancel = watch.cancelled();
    SHOAL_ASSIGN(const auto opened, open_device(device, threads, Tune::kFast));
    SHOAL_ASSIGN(Session session, model.session(*opened));
    return fit::evaluate(session, *dataset.data, options);
  }();
  watch.rethrow();
  return dict_of(unwrap(std::move(evaluated)));
}

}  // namespace

void add_train(py::module_& module) {
  module.def("_train", &train, py::arg("model"), py::arg("training"), py::arg("held_out"),
             py::arg("out"), py::arg("checkpoint"), py::arg("options"), py::arg("device"),
             py::arg("threads"), py::arg("on_epoch"), "What shoal.train() is made of.");
  module.def("_train_on_cluster", &train_on_cluster, py::arg("model"), py::arg("training"),
             py::arg("held_out"), py::arg("out"), py::arg("checkpoint"), py::arg("options"),
             py::arg("folder"), py::arg("threads"), "What shoal.train(cluster=...) is made of.");
  module.def("_evaluate", &evaluate, py::arg("model"), py::arg("dataset"), py::arg("options"),
             py::arg("device"), py::arg("threads"), "What shoal.evaluate() is made of.");
}

}  // namespace shoal::python
