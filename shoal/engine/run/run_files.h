// The files of a run: inputs by name, labels, built-in samples, outputs as arrays.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/run/scores.h"
#include "shoal/engine/session/session.h"

namespace shoal::fit {

// Inputs from texts "FILE" or "NAME=FILE": images, prepared as `how` says, and .npy arrays. A file
// without a name goes to the next input of the model. kInvalidArgument for an input that the model
// does not have; fails as read_input_file() does.
Result<Session::Tensors> read_inputs(std::span<const std::string> texts,
                                     std::span<const TensorInfo> inputs, const Preprocess& how);

// The names of classes, one a line. kNotFound if there is no such file.
Result<std::vector<std::string>> read_labels(const std::filesystem::path& path);

// Writes each output to FOLDER/<name>.npy. Names come from models, but no file leaves the folder,
// which is made if missing.
Status write_outputs(const Session::Tensors& outputs, const std::filesystem::path& folder);

// Whether a tensor is the scores of one image's classes: f32 [classes] or [1, ..., classes].
bool is_scores(const Tensor& tensor);

// The embedded images, classified by the embedded model: checks that a device computes correctly.
struct ClassifiedSample {
  std::string_view name;  // "sample_7.png"
  RankedClass best;       // should be its index: the samples are digits in order
};

// Fails as the session does. REQUIRES: the session is one of kDigitsModel.
Result<std::vector<ClassifiedSample>> classify_samples(Session& session);

std::vector<Facts> rows_of(const std::vector<ClassifiedSample>& samples);

}  // namespace shoal::fit
