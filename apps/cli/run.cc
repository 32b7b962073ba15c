// shoal run: inputs in, answers out.
#include "cli.h"
#include "cluster/cluster_device.h"
#include "exit_codes.h"
#include "facts.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/fit/answers.h"
#include "shoal/fit/builtin_samples.h"
#include "shoal/fit/run_files.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal run                                            the built-in digits, on the built-in samples
  shoal run --input my_digit.png                       the built-in digits, on a picture of yours
  shoal run model.onnx --input x=x.npy --save out      arrays in, out/<output name>.npy out
  shoal run model.onnx --input cat.jpg --preset imagenet --top 5 --labels classes.txt
  shoal run model.onnx --input cat.jpg --cluster       split over the workers of your cluster
  shoal run model.onnx --input cat.jpg --resize 256 --crop 224 --mean 0.485,0.456,0.406 \
            --std 0.229,0.224,0.225 --save-preset mine   keep these settings as a preset)";

struct RunFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::vector<std::string> inputs;
  std::string labels;
  std::string save;
  int64_t top = 0;
  bool json = false;
  PlanFlags plan;
  std::string fallback;  // a model; empty: none
};

Result<Session::Tensors> read_inputs(const RunFlags& flags, const Session& session) {
  SHOAL_ASSIGN(const Preprocess how, flags.preprocess.resolve());
  return fit::read_inputs(flags.inputs, session.inputs(), how);
}

// The answer of a model; of the fallback model if `degraded` says why.
struct Answer {
  Session::Tensors outputs;
  std::string degraded;
};

void print_tables(const Session::Tensors& outputs, const fit::AnswerView& view) {
  Table all({"output", "type", "elements"});
  bool any = false;
  for (const auto& [name, tensor] : outputs) {
    if (shows_classes(tensor, view)) {
      table_of(class_rows(name, tensor, view)).print();
    } else {
      all.add({name, to_string(tensor.type()), fit::summary_of(tensor)});
      any = true;
    }
  }
  if (any) all.print();
}

// No model, no input: the digits in the binary answer on the samples in the binary.
Outcome run_samples(Session& session, bool json) {
  SHOAL_OR_EXIT(const auto samples, Exit::kDevice, fit::classify_samples(session));
  std::vector<Facts> rows;
  for (const auto& [name, best] : samples) {
    rows.push_back({{"image", std::string(name), "image"},
                    {"digit", best.index, "digit"},
                    {"share", static_cast<float>(best.probability), "share",
                     fixed(100.0 * best.probability, 1) + " %"}});
  }
  json ? print_json(list_of(rows)) : table_of(rows).print();
  return {};
}

// By a smaller model, on this device alone.
Result<Answer> answer_anyway(const RunFlags& flags, const Status& why) {
  ModelFlags small = flags.model;
  small.model = flags.fallback;
  SHOAL_ASSIGN(const auto device, make_device(small));
  SHOAL_ASSIGN(Session session, open_session(small, *device));
  SHOAL_ASSIGN(const auto inputs, read_inputs(flags, session));
  SHOAL_TRY(session.accepts(inputs));
  SHOAL_ASSIGN(auto outputs, session.run(inputs));
  return Answer{std::move(outputs), flags.fallback + " answered: " + std::string(why.message())};
}

Outcome show(const Answer& answer, const RunFlags& flags, const fit::AnswerView& view) {
  if (!flags.save.empty()) {
    if (Status saved = fit::write_outputs(answer.outputs, flags.save); !saved.ok())
      return fail(Exit::kResources, saved);
  }
  if (flags.json) {
    Json result = to_json(answer.outputs, view);
    if (!answer.degraded.empty()) result["degraded"] = answer.degraded;
    print_json(result);
  } else if (flags.save.empty() || flags.top > 0) {
    print_tables(answer.outputs, view);
  }
  if (answer.degraded.empty()) return {};
  return {Exit::kDegraded, answer.degraded};
}

// Too few workers for the model, or none that can be reached: what a smaller one is for.
bool calls_for_fallback(const RunFlags& flags, const Status& status) {
  const Code code = status.code();
  const bool of_workers = code == Code::kUnavailable || code == Code::kDeadline ||
                          code == Code::kExhausted || code == Code::kNotFound;
  return !flags.fallback.empty() && of_workers;
}

Outcome run(RunFlags& flags) {
  flags.plan.local_device = flags.model.device;
  fit::AnswerView view{.top = static_cast<size_t>(flags.top)};
  if (!flags.labels.empty()) {
    SHOAL_OR_EXIT(view.labels, Exit::kUsage, fit::read_labels(flags.labels));
  }
  const auto fall_back = [&](const Status& why, Exit otherwise) -> Outcome {
    if (!calls_for_fallback(flags, why)) return fail(otherwise, why);
    SHOAL_OR_EXIT(const Answer answer, Exit::kModel, answer_anyway(flags, why));
    return show(answer, flags, view);
  };
  const bool on_cluster = flags.plan.is_on_cluster();
  auto device = on_cluster ? open_cluster_device(flags.plan) : make_device(flags.model);
  if (!device.ok()) {
    return fall_back(device.status(),
                     on_cluster ? exit_of(Doing::kConnect, device.status()) : Exit::kDevice);
  }
  auto opened = open_session(flags.model, **device);
  if (!opened.ok()) {
    const Status why = opened.status();
    // What is not found here is the model's file, which is no matter of workers.
    return why.code() == Code::kNotFound ? fail(Exit::kModel, why) : fall_back(why, Exit::kModel);
  }
  Session& session = *opened;
  if (flags.inputs.empty() && flags.model.model == kDefaultModel)
    return run_samples(session, flags.json);
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, read_inputs(flags, session));
  if (Status fits = session.accepts(inputs); !fits.ok()) return fail(Exit::kUsage, fits);
  auto ran = session.run(inputs);
  if (!ran.ok()) return fall_back(ran.status(), exit_of(Doing::kRun, ran.status()));
  return show({*std::move(ran), {}}, flags, view);
}

}  // namespace

void add_run(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "run", "Run a model on inputs", kExamples, run);
  flags.model.add_to(command, /*model_required=*/false);
  command.add_option("--input,-i", flags.inputs,
                     "FILE or NAME=FILE: .npy, .jpg or .png; repeatable");
  command.add_option("--save", flags.save, "Write every output to DIR/<name>.npy");
  command.add_option("--top", flags.top, "Show the N best classes of outputs that hold scores",
                     in_range(1, 1 << 20));
  command.add_option("--labels", flags.labels, "Names of the classes, one a line");
  command.add_flag("--json", flags.json, "Print one JSON object");
  Option* cluster = flags.plan.add_cluster_to(command);
  command
      .add_option("--fallback", flags.fallback,
                  "The model that answers here, with exit code 10, if too few workers are left")
      ->needs(cluster);
  flags.preprocess.add_to(command);
}

}  // namespace shoal::cli
