// A page about a course of training: curves, confusions, sample mistakes. One file, nothing beside
// it, and whole at any time.
#pragma once

#include <filesystem>
#include <string>

#include "course.h"
#include "exam.h"
#include "shoal/data/dataset.h"

namespace shoal::cli {

struct Report {
  std::string title;
  const Course& course;
  const Exam& exam;
  const Dataset& held_out;  // whose images the mistakes are
};

Status write_report(const std::filesystem::path& path, const Report& report);

}  // namespace shoal::cli
