// What a model answered, for scripts and for people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/engine/session/session.h"

namespace shoal::fit {

// How outputs are shown.
struct AnswerView {
  size_t top = 0;                        // classes of outputs that hold scores; 0: elements of all
  std::vector<std::string> labels = {};  // names of classes; others have a number
};

// Type, shape and elements of each output, or its best classes.
Json to_json(const Session::Tensors& outputs, const AnswerView& view);

// Whether the best classes of an output are shown.
bool shows_classes(const Tensor& output, const AnswerView& view);
// These classes, as rows. REQUIRES: shows_classes().
std::vector<Facts> class_rows(const std::string& name, const Tensor& output,
                              const AnswerView& view);

// Type and first elements of the other outputs, as rows.
std::vector<Facts> element_rows(const Session::Tensors& outputs, const AnswerView& view);

// The first elements of a tensor.
std::string summary_of(const Tensor& tensor);

}  // namespace shoal::fit
