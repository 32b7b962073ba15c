// Lessons: a network goes through its course, epoch by epoch, is examined after each and written
// down, so that it can go on after whatever happens.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "course.h"
#include "exam.h"
#include "shoal/data/prefetch.h"
#include "shoal/train/trainer.h"
#include "train_flags.h"

namespace shoal::cli {

class Lessons {
 public:
  // Opens data and network, and the checkpoint if there is one to go on from. `flags` and `device`
  // outlive the lessons.
  static Result<std::unique_ptr<Lessons>> prepare(const TrainFlags& flags, Device& device);

  // All epochs that are left, or as many as patience allows.
  Status run();
  // The network as a file, and the last look at it.
  Status finish();

  const Course& course() const { return course_; }
  const Exam& exam() const { return exam_; }
  double images_per_s() const;  // in this process, evaluation not counted

 private:
  Lessons(const TrainFlags& flags, Device& device) : flags_(flags), device_(device) {}

  Status open_data();
  Status open_network();
  Status use_features(const Preprocess& how);
  Status open_teacher();
  Status resume();
  Batches::Prepare preparation(const Preprocess& how) const;
  BatchOptions exam_options() const;

  Status learn_epoch();
  Status learn(const Batch& batch);
  std::string describe_progress() const;
  Result<std::vector<Tensor>> targets_of(const Batch& batch);
  Status close_epoch();
  Status examine_now();
  Status save();
  Status write_report() const;
  void tell_damage() const;
  bool out_of_patience() const;

  const TrainFlags& flags_;
  Device& device_;
  std::shared_ptr<const Dataset> training_, held_out_;
  // What a frozen body makes of them, where it need not run more than once.
  std::shared_ptr<const Dataset> training_features_, held_out_features_;
  Graph network_;  // what is trained, for the batch, with the weights it began with
  int64_t classes_ = 0;
  std::optional<Batches> batches_, exam_batches_;
  std::optional<Prefetch> prefetch_;  // from one epoch into the next
  std::optional<train::Trainer> trainer_;
  std::unique_ptr<Executable> teacher_;
  train::Schedule schedule_;
  Course course_;
  Exam exam_;
  std::map<std::string, Tensor> best_;  // weights, where patience asks for them
  size_t learned_ = 0;                  // images, by this process
  double learning_ = 0;                 // seconds it took
};

}  // namespace shoal::cli
