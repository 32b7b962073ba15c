// shoal run: inputs in, answers out.
#include "cli.h"
#include "cluster/cluster_device.h"
#include "exit_codes.h"
#include "facts.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/engine/run/answers.h"
#include "shoal/engine/run/run_files.h"

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

void print_tables(const Session::Tensors& outputs, const fit::AnswerView& view) {
  for (const auto& [name, tensor] : outputs) {
    if (shows_classes(tensor, view)) table_of(class_rows(name, tensor, view)).print();
  }
  if (const auto rows = element_rows(outputs, view); !rows.empty()) table_of(rows).print();
}

// No model, no input: the digits in the binary answer on the samples in the binary.
Outcome run_samples(Session& session, bool json) {
  SHOAL_OR_EXIT(const auto samples, Exit::kDevice, fit::classify_samples(session));
  json ? print_json(list_of(rows_of(samples))) : table_of(rows_of(samples)).print();
  return {};
}

// By a smaller model, on this device alone.
Result<fit::Answer> answer_anyway(const RunFlags& flags, const Status& why) {
  ModelFlags small = flags.model;
  small.model = flags.fallback;
  SHOAL_ASSIGN(const auto device, make_device(small));
  SHOAL_ASSIGN(Session session, open_session(small, *device));
  SHOAL_ASSIGN(const auto inputs, read_inputs(flags, session));
  return fit::answer_instead(session, inputs, flags.fallback, why);
}

Outcome show(const fit::Answer& answer, const RunFlags& flags, const fit::AnswerView& view) {
  if (!flags.save.empty()) {
    if (Status saved = fit::write_outputs(answer.outputs, flags.save); !saved.ok())
      return fail(Exit::kResources, saved);
  }
  if (flags.json) {
    print_json(to_json(answer, view));
  } else if (flags.save.empty() || flags.top > 0) {
    print_tables(answer.outputs, view);
  }
  if (answer.degraded.empty()) return {};
  return {Exit::kDegraded, answer.degraded};
}

Outcome run(RunFlags& flags) {
  flags.plan.local_device = flags.model.device;
  fit::AnswerView view{.top = static_cast<size_t>(flags.top)};
  if (!flags.labels.empty()) {
    SHOAL_OR_EXIT(view.labels, Exit::kUsage, fit::read_labels(flags.labels));
  }
  const auto fall_back = [&](fit::RunStep step, const Status& why, Exit otherwise) -> Outcome {
    if (flags.fallback.empty() || !calls_for_fallback(step, why)) return fail(otherwise, why);
    SHOAL_OR_EXIT(const fit::Answer answer, Exit::kModel, answer_anyway(flags, why));
    return show(answer, flags, view);
  };
  using enum fit::RunStep;
  const bool on_cluster = flags.plan.is_on_cluster();
  auto device = on_cluster ? open_cluster_device(flags.plan) : make_device(flags.model);
  if (!device.ok()) {
    return fall_back(kReach, device.status(),
                     on_cluster ? exit_of(Doing::kConnect, device.status()) : Exit::kDevice);
  }
  auto opened = open_session(flags.model, **device);
  if (!opened.ok()) return fall_back(kOpen, opened.status(), Exit::kModel);
  Session& session = *opened;
  if (flags.inputs.empty() && flags.model.model == kDefaultModel)
    return run_samples(session, flags.json);
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, read_inputs(flags, session));
  auto outputs = session.run(inputs);
  if (outputs.ok()) return show({*std::move(outputs), {}}, flags, view);
  // Inputs that do not fit are the user's matter, and no worker can help.
  if (Status fits = session.accepts(inputs); !fits.ok()) return fail(Exit::kUsage, fits);
  return fall_back(kRun, outputs.status(), exit_of(Doing::kRun, outputs.status()));
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
