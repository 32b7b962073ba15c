// A picture of a plan: for every worker a bar of its computing and one of its sending and
// receiving, over time; of a stream, for the first few requests.
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::report {

// Names of models, nodes and workers are untrusted text.
std::string plan_picture(const std::string& model, const plan::Comparison& made);  // SVG
std::string plan_picture(const std::string& model, const plan::StreamComparison& made);
// The picture of one plan for the workers of these names, as a part of a page.
std::string plan_picture_in_page(const std::string& title, const std::vector<std::string>& workers,
                                 const plan::Prediction& made);
// A page with the picture, and why this plan was chosen.
std::string plan_page(const std::string& model, const plan::Comparison& made);
std::string plan_page(const std::string& model, const plan::StreamComparison& made);

}  // namespace shoal::report
