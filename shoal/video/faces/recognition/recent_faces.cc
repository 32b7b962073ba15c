#include "shoal/video/faces/recognition/recent_faces.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/status.h"

namespace shoal::faces {

Embedding normalised(std::span<const float> v) {
  double sum = 0;
  for (float x : v) sum += double{x} * x;
  Embedding unit(v.size(), 0.0F);
  if (!std::isfinite(sum) || sum <= 0) return unit;
  const double factor = 1 / std::sqrt(sum);
  for (size_t i = 0; i < v.size(); ++i) unit[i] = static_cast<float>(v[i] * factor);
  return unit;
}

double distance(std::span<const float> a, std::span<const float> b) {
  SHOAL_CHECK(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

void move_mean(Embedding& mean, std::span<const float> v, double alpha) {
  SHOAL_CHECK(mean.size() == v.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = static_cast<float>((1 - alpha) * mean[i] + alpha * v[i]);
  }
}

std::optional<Match> RecentFaces::match(size_t exit, std::span<const float> face, double threshold,
                                        const std::string& except) const {
  std::optional<Match> best;
  for (const Person& person : people_) {
    if (person.means.size() <= exit || person.means[exit].size() != face.size()) continue;
    if (!except.empty() && person.name == except) continue;
    const double away = distance(person.means[exit], face);
    if (!(away <= threshold) || (best && away >= best->distance)) continue;
    best = Match{person.name, away};
    if (options_.first_match) break;
  }
  return best;
}

void RecentFaces::update(const std::string& person, std::span<const Embedding> faces) {
  if (options_.most == 0) return;
  auto at = std::ranges::find(people_, person, &Person::name);
  if (at == people_.end()) {
    if (people_.size() >= options_.most) {
      people_.erase(std::ranges::min_element(people_, {}, &Person::seen));
    }
    at = people_.insert(people_.end(), Person{.name = person, .means = {}});
  }
  at->seen = ++now_;
  for (size_t i = 0; i < faces.size(); ++i) {
    if (i == at->means.size()) {
      at->means.push_back(faces[i]);
    } else if (at->means[i].size() != faces[i].size()) {
      at->means[i] = faces[i];
    } else {
      move_mean(at->means[i], faces[i], options_.alpha);
    }
  }
}

bool RecentFaces::forget(const std::string& person) {
  return std::erase_if(people_, [&](const Person& one) { return one.name == person; }) > 0;
}

const Embedding* RecentFaces::mean(const std::string& person, size_t exit) const {
  const auto at = std::ranges::find(people_, person, &Person::name);
  return at == people_.end() || at->means.size() <= exit ? nullptr : &at->means[exit];
}

}  // namespace shoal::faces
