// ShrinkOptions: how small a network is to become, what goes first, and how the rest learns again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/shrink/compress/units/target.h"
#include "shoal/train/run/setup/training_options.h"

#pragma GCC visibility push(default)

namespace shoal::plan {
struct WireOptions;
}

namespace shoal::shrink {

// The worth of a unit (shrink/compress/units/importance.h); those of least worth go first. Some
// methods train first (methods.h).
enum class Importance {
  kMagnitude,  // the squares of its weights
  kTaylor,     // what the loss gains from it, to first order, on examples that choose
  kRandom,     // anything: a control
  kLasso,      // as kTaylor, after learning with a group lasso on units
  kHoyer,      // the same with Hoyer-square
  kDpruner,    // how often a block that learns to mask units keeps it
  kDepth,      // residual blocks go in place of units: those that the loss misses least
  // No unit goes: layers become products of smaller ones (shrink/compress/factors/factorise.h), at
  // the ranks that the target needs, if that is faster.
  kSvd,     // Gemm, MatMul and convolutions of one tap
  kTucker,  // other convolutions
};

// Whose answers the smaller network learns besides the labels.
enum class Teacher {
  kNone,   // nobody's
  kDense,  // the network's as it was given. Its control, too, learns from it: same recipe
  // The dense control, which trains first on labels alone. A better teacher if the given network
  // can still improve, but the control has none.
  kControl,
};

// "taylor", "dense" and so on, and back; nullopt for any other name.
std::string_view name_of(Importance importance);
std::optional<Importance> find_importance(std::string_view name);
std::string_view name_of(Teacher teacher);
std::optional<Teacher> find_teacher(std::string_view name);

// How long a run for one example may take. One of the first two is above 0.
struct TimeTarget {
  double ms = 0;                  // milliseconds
  double share = 0;               // of the time that the given network takes, at most 1
  compress::Target besides = {};  // sizes to be met, too

  friend bool operator==(const TimeTarget&, const TimeTarget&) = default;
};

// A value.
struct ShrinkOptions {
  compress::Target target = {.macs = 0.5};  // how small
  std::optional<TimeTarget> time = {};      // how fast; `target` is not read then
  // The target device by its name in plans, such as "pi4", or several, "4xnexus5/wifi-43.8": times
  // follow from its profile, or from the best plan. Empty: measured on ShrinkDevices::runs.
  std::string device = {};
  // Between several devices, the fewest bytes of values in messages (plan/search/wire_format.h).
  // Null: as computed.
  std::shared_ptr<const plan::WireOptions> wire = {};
  Importance importance = Importance::kTaylor;  // what goes first
  // This many residual blocks go first, those that the loss misses least, as by kDepth.
  // `importance` decides the rest.
  size_t blocks = 0;
  // For kLasso, kHoyer and kDpruner: how many of recipe.epochs come before anything goes (0: a
  // third), and the strength of the penalty (0: the usual one).
  int64_t sparse_epochs = 0;
  double strength = 0;
  Teacher teacher = Teacher::kDense;  // whose share of the loss is recipe.loss.distill
  // The weight of the teacher's features at the ends of its stages (train/step/graph/features.h);
  // 0: none. For every network that has a teacher.
  float distill_features = 0;
  // Finally quantises to 8 bits (shrink/compress/methods/int8.h), calibrated on training examples;
  // also the controls of the same size. A target of bytes is then one for the file, written as
  // onnx::Style::kCompact.
  bool int8 = false;
  int64_t int8_epochs = 0;  // the result learns to be rounded for, before that
  // The most points of accuracy to lose against the dense control on the test examples; 0: any. If
  // the target costs more, less is removed: see ShrinkResult::missed.
  double max_drop = 0;
  // Every network learns with batch norms behind its convolutions, folded in what is written;
  // false: with those that it was given with.
  bool norms = true;
  // Refits layers that read removed units (shrink/compress/refit/refit.h); otherwise, and for
  // learned masks, they keep the rest of their weights.
  bool refit = true;
  bool controls = false;  // train the smaller network from scratch and after random removal, too
  // The training recipe. Files, model, teacher and patience are not read.
  fit::TrainingOptions recipe = {};
  bool sensitivity = false;        // look what each group of the given network is to its accuracy
  double measure_seconds = 1;      // for the time of each network; 0: it is not measured
  std::filesystem::path out = {};  // the smaller network as ONNX; empty: none
  // A folder for the run's progress; empty: none. With `resume`, continues a run in it, to the same
  // file.
  std::filesystem::path steps = {};
  bool resume = false;  // without such a run it begins anew
};

// The epochs of the recipe that the smaller network learns before anything goes. Pure.
int64_t epochs_before(const ShrinkOptions& options);

// Whether the method puts factors in place of layers. Pure.
bool factorises(Importance importance);

// The usual recipe: a short warm-up, then a cosine; half of the loss is about the teacher.
fit::TrainingOptions usual_recipe();

// Sets the target: "ms=0.2" milliseconds, "ms=0.5x" a share of the time, compress::parse_target()
// texts, or both: "ms=0.5x,macs=0.5". kInvalidArgument for any other text, and for two times.
Status set_target(std::string_view text, ShrinkOptions& options);

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const ShrinkOptions& options);

}  // namespace shoal::shrink

#pragma GCC visibility pop
