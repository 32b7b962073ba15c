#include "shoal/video/faces/recognition/cascade.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace shoal::faces {

Result<std::vector<double>> thresholds_from(const std::vector<Lesson>& lessons,
                                            const exits::WantedPrecision& wanted) {
  // The nearer, the more probable.
  exits::Verdicts verdicts;
  const size_t count = lessons.empty() ? 0 : lessons[0].distances.size();
  verdicts.exits.resize(count + 1);
  for (const Lesson& lesson : lessons) {
    for (size_t i = 0; i < count; ++i) {
      verdicts.exits[i].push_back({-lesson.distances[i], lesson.right[i]});
      verdicts.exits[i].push_back({-lesson.others[i], false});
    }
    verdicts.exits[count].insert(verdicts.exits[count].end(), 2, {1, true});
  }
  SHOAL_ASSIGN(std::vector<double> thresholds, exits::thresholds_for_precision(verdicts, wanted));
  for (double& threshold : thresholds) threshold = -threshold;  // kNever becomes negative
  return thresholds;
}

double expected_cost(const std::vector<Lesson>& lessons, const std::vector<double>& thresholds,
                     const CascadeCosts& costs) {
  double sum = 0;
  for (const Lesson& lesson : lessons) {
    bool answered = false;
    for (size_t i = 0; i < costs.exits.size() && !answered; ++i) {
      sum += static_cast<double>(costs.exits[i]);
      answered = lesson.distances[i] <= thresholds[i];
    }
    if (!answered) sum += static_cast<double>(costs.oracle);
  }
  return lessons.empty() ? 0 : sum / static_cast<double>(lessons.size());
}

Cascade::Cascade(CascadeOptions options)
    : options_(std::move(options)),
      recent_(options_.recent),
      thresholds_(options_.thresholds),
      budget_(options_.slack) {
  SHOAL_CHECK(thresholds_.empty() || thresholds_.size() == exits());
  figures_.answers.resize(exits() + 1);
}

int64_t Cascade::whole_cost() const {
  const auto& all = options_.costs.exits;
  return std::accumulate(all.begin(), all.end(), options_.costs.oracle);
}

void Cascade::spend(int64_t cost) {
  budget_.spend(static_cast<double>(cost), static_cast<double>(options_.costs.alone));
  figures_.cost += cost;
  figures_.alone += options_.costs.alone;
}

Result<FaceAnswer> Cascade::recognise(const ExitFunction& exit, const OracleFunction& oracle) {
  const bool fixed = !options_.thresholds.empty();
  const bool useless = std::ranges::all_of(thresholds_, [](double t) { return t < 0; });
  // Given thresholds are used at any price: they were chosen.
  const bool affordable = budget_.affordable(static_cast<double>(whole_cost()),
                                             static_cast<double>(options_.costs.alone));
  if (exits() == 0 || (fixed && useless) || (!fixed && !affordable)) {
    spend(options_.costs.alone);
    return ask_oracle(oracle, {});
  }
  return thresholds_.empty() ? lesson(exit, oracle) : early(exit, oracle);
}

Result<FaceAnswer> Cascade::ask_oracle(const OracleFunction& oracle, std::vector<Embedding> faces) {
  SHOAL_ASSIGN(std::optional<std::string> person, oracle());
  if (person && !faces.empty()) recent_.update(*person, faces);
  ++figures_.answers[exits()];
  return FaceAnswer{.person = std::move(person), .exit = exits()};
}

Result<FaceAnswer> Cascade::lesson(const ExitFunction& exit, const OracleFunction& oracle) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  std::vector<Embedding> faces;
  for (size_t i = 0; i < exits(); ++i) {
    SHOAL_ASSIGN(Embedding face, exit(i));
    faces.push_back(std::move(face));
  }
  spend(whole_cost());
  SHOAL_ASSIGN(std::optional<std::string> person, oracle());
  ++figures_.answers[exits()];
  Lesson learned;
  for (size_t i = 0; i < exits(); ++i) {
    const auto nearest = recent_.match(i, faces[i], kAny);
    const auto other = recent_.match(i, faces[i], kAny, person.value_or(""));
    if (!nearest || !other) continue;
    learned.distances.push_back(nearest->distance);
    learned.right.push_back(person == nearest->person);
    learned.others.push_back(other->distance);
  }
  if (person) recent_.update(*person, faces);
  // Before two people are known there is little to learn.
  if (learned.distances.size() == exits()) {
    lessons_.push_back(std::move(learned));
    ++figures_.lessons;
  }
  if (lessons_.size() >= options_.lessons) learn();
  return FaceAnswer{.person = std::move(person), .exit = exits()};
}

void Cascade::learn() {
  const auto thresholds = thresholds_from(lessons_, options_.wanted);
  const double alone = static_cast<double>(options_.costs.alone);
  if (thresholds.ok() && expected_cost(lessons_, *thresholds, options_.costs) < alone &&
      std::ranges::any_of(*thresholds, [](double t) { return t >= 0; })) {
    thresholds_ = *thresholds;
    lessons_.clear();
    early_ = checked_ = wrong_ = 0;
    return;
  }
  // The older half is dropped, and learning goes on.
  lessons_.erase(lessons_.begin(),
                 lessons_.begin() + static_cast<std::ptrdiff_t>((lessons_.size() + 1) / 2));
}

Result<FaceAnswer> Cascade::early(const ExitFunction& exit, const OracleFunction& oracle) {
  std::vector<Embedding> faces;
  int64_t cost = 0;
  for (size_t i = 0; i < exits(); ++i) {
    SHOAL_ASSIGN(Embedding face, exit(i));
    faces.push_back(std::move(face));
    cost += options_.costs.exits[i];
    const auto match = recent_.match(i, faces.back(), thresholds_[i]);
    if (!match) continue;
    const FaceAnswer face_answer{match->person, i, match->distance};
    const bool fixed = !options_.thresholds.empty();
    if (!fixed && ++early_ % std::max<size_t>(options_.audit, 1) == 0) {
      return checked(face_answer, std::move(faces), exit, oracle);
    }
    spend(cost);
    recent_.update(match->person, faces);
    ++figures_.answers[i];
    return face_answer;
  }
  spend(cost + options_.costs.oracle);
  return ask_oracle(oracle, std::move(faces));
}

Result<FaceAnswer> Cascade::checked(const FaceAnswer& face_answer, std::vector<Embedding> faces,
                                    const ExitFunction& exit, const OracleFunction& oracle) {
  while (faces.size() < exits()) {
    SHOAL_ASSIGN(Embedding face, exit(faces.size()));
    faces.push_back(std::move(face));
  }
  spend(whole_cost());
  SHOAL_ASSIGN(FaceAnswer answer, ask_oracle(oracle, std::move(faces)));
  ++checked_;
  ++figures_.checked;
  if (answer.person == face_answer.person) return answer;
  ++wrong_;
  ++figures_.wrong;
  // This many wrong answers would be improbable at the wanted precision.
  const double as_many =
      1 - exits::chance_of_at_most(wrong_ - 1, checked_, 1 - options_.wanted.precision);
  if (as_many < options_.wanted.risk) thresholds_.clear();
  return answer;
}

}  // namespace shoal::faces
