// Comparison of redundant pieces. Copies of one element are compared with each other; the members
// of a code with the equation that they must satisfy. Copies made by the same code on the same kind
// of processor are equal to the last bit, so that a comparison of bytes settles almost all of them.
// Others may differ by rounding. Elements of f32, f64 and 16-bit floats are held to the tolerance;
// those of 8 bits to two steps, because a value may lie on the border of two; sums in 32 bits to
// equality. Other types (indices, masks) are not compared: a tie decides them.
#include "shoal/cluster/tasks/witness.h"

#include <algorithm>
#include <cmath>

#include "messages.pb.h"
#include "shoal/plan/part.h"

namespace shoal::cluster {

void encode(const std::vector<Dispute>& disputes, message::Checked& to) {
  for (const Dispute& dispute : disputes) {
    message::Checked::Dispute& one = *to.add_disputes();
    for (int64_t i : dispute.index) one.add_index(i);
    for (const Claim& claim : dispute.claims) {
      message::Checked::Claim& said = *one.add_claims();
      said.set_from(claim.from);
      said.set_value(static_cast<int32_t>(claim.value));
      said.set_said(claim.said);
    }
  }
}

Result<std::vector<Dispute>> decode(const message::Checked& from) {
  constexpr int kMostClaims = 260;  // the members of the largest code
  std::vector<Dispute> disputes;
  if (from.disputes_size() > static_cast<int>(kMostDisputes)) {
    return Status(Code::kCorrupt, "more disputes than a worker reports");
  }
  for (const message::Checked::Dispute& one : from.disputes()) {
    if (one.index_size() > static_cast<int>(Shape::kMaxRank) || one.claims_size() > kMostClaims) {
      return Status(Code::kCorrupt, "a dispute that cannot be");
    }
    Dispute& dispute = disputes.emplace_back();
    for (int64_t i : one.index()) dispute.index.push_back(i);
    for (const message::Checked::Claim& claim : one.claims()) {
      dispute.claims.push_back({claim.from(), ValueId{claim.value()}, claim.said()});
    }
  }
  return disputes;
}

namespace {

constexpr size_t kMostRequests = 64;     // with kept pieces
constexpr size_t kMostRemembered = 256;  // numbers of requests that are over
constexpr double kSteps = 2;             // of 8-bit values

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

// The largest contradiction between two lists of elements.
struct Worst {
  double excess = 0;  // over the allowed difference; 0: none
  size_t at = 0;
};

// Finds the element where |a - b| exceeds `allowed` most. Negated comparisons catch NaN; two equal
// infinities or NaN of both do not contradict each other.
template <class A, class B>
Worst find_worst(size_t count, double allowed, const A& a, const B& b) {
  Worst worst;
  for (size_t i = 0; i < count; ++i) {
    const double x = a(i), y = b(i);
    const double gap = std::abs(x - y);
    if (gap <= allowed || x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double excess = std::isnan(gap) ? HUGE_VAL : gap;
    if (excess > worst.excess) worst = {excess, i};
  }
  return worst;
}

template <class T>
double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (const T x : tensor.data<T>()) {
    const double magnitude = std::abs(static_cast<double>(x));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

// The index of element `at` of a box, in the coordinates of its value.
Shape index_in(const Region& box, size_t at) {
  Shape index = box.begin;
  for (size_t d = box.begin.rank(); d-- > 0;) {
    const auto length = static_cast<size_t>(box.end[d] - box.begin[d]);
    index[d] += static_cast<int64_t>(at % length);
    at /= length;
  }
  return index;
}

// The part of a piece in a box that it holds; shared where it is all of it.
Tensor part_of(const plan::Piece& piece, const Tensor& elements, const Region& box) {
  return box == piece.region ? elements : crop(elements, plan::relative(box, piece.region));
}

bool holds(const Region& outer, const Region& inner) {
  return outer.begin.rank() == inner.begin.rank() && plan::intersection(outer, inner) == inner;
}

}  // namespace

std::optional<std::vector<Dispute>> Witness::add(uint64_t request, const std::string& from,
                                                 const plan::Piece& piece, const Tensor& elements) {
  std::optional<Record> complete;
  {
    const std::lock_guard lock(mutex_);
    if (over_.contains(request)) return std::nullopt;
    if (!records_.contains(request) && records_.size() >= kMostRequests) {
      end(records_.begin()->first);  // the oldest, which was not asked about
    }
    std::vector<Held>& pieces = records_[request].pieces;
    const bool known = std::ranges::any_of(
        pieces, [&](const Held& held) { return held.from == from && held.piece == piece; });
    if (known) return std::nullopt;
    pieces.push_back({from, piece, elements});
    complete = take_if_complete(request);
  }
  // Comparing takes long enough that arriving pieces should not wait for it.
  return complete ? std::optional(compare(*complete)) : std::nullopt;
}

std::optional<std::vector<Dispute>> Witness::check(uint64_t request, const CheckOrder& order) {
  std::optional<Record> complete;
  {
    const std::lock_guard lock(mutex_);
    if (over_.contains(request)) return std::nullopt;
    records_[request].order = order;
    complete = take_if_complete(request);
  }
  return complete ? std::optional(compare(*complete)) : std::nullopt;
}

void Witness::forget(uint64_t request) {
  const std::lock_guard lock(mutex_);
  end(request);
}

size_t Witness::kept() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

std::optional<Witness::Record> Witness::take_if_complete(uint64_t request) {
  Record& record = records_.at(request);
  if (!record.is_complete()) return std::nullopt;
  Record taken = std::move(record);
  end(request);
  return taken;
}

// Remembers that the request is over, so that late pieces are not kept for ever.
void Witness::end(uint64_t request) {
  records_.erase(request);
  over_.insert(request);
  if (over_.size() > kMostRemembered) over_.erase(over_.begin());
}

// Values are numbered in the order of the graph, and an early error makes all later values wrong.
// The first disputes are therefore those that matter.
std::vector<Dispute> Witness::compare(const Record& record) const {
  std::vector<Dispute> disputes;
  for (size_t b = 0; b < record.pieces.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      auto dispute = compare_copies(record.pieces[a], record.pieces[b], record.order->tolerance);
      if (dispute) disputes.push_back(*std::move(dispute));
    }
  }
  for (const TaskCode& code : codes_) {
    if (auto dispute = compare_members(code, record)) disputes.push_back(*std::move(dispute));
  }
  std::ranges::stable_sort(disputes, {},
                           [](const Dispute& dispute) { return dispute.claims[0].value; });
  if (disputes.size() > kMostDisputes) disputes.resize(kMostDisputes);
  return disputes;
}

std::optional<Dispute> Witness::compare_copies(const Held& a, const Held& b, double tolerance) {
  if (a.piece.value != b.piece.value || a.from == b.from) return std::nullopt;
  const Region common = plan::intersection(a.piece.region, b.piece.region);
  if (plan::is_empty(common)) return std::nullopt;
  const DType dtype = a.elements.dtype();
  if (!Floats::contains(dtype) && !is_byte(dtype) && dtype != DType::kI32) return std::nullopt;
  const Tensor x = part_of(a.piece, a.elements, common), y = part_of(b.piece, b.elements, common);
  if (std::ranges::equal(x.bytes(), y.bytes())) return std::nullopt;
  std::optional<Dispute> dispute;
  visit<Numbers>(dtype, [&]<class T>() {
    const auto at = [](const Tensor& tensor) {
      return [elements = tensor.data<T>()](size_t i) { return static_cast<double>(elements[i]); };
    };
    const double allowed = Floats::contains(dtype)
                               ? tolerance * std::max(largest_of<T>(x), largest_of<T>(y))
                               : (is_byte(dtype) ? kSteps : 0);
    const Worst worst = find_worst(x.data<T>().size(), allowed, at(x), at(y));
    if (worst.excess == 0) return;
    dispute = {
        index_in(common, worst.at),
        {{a.from, a.piece.value, at(x)(worst.at)}, {b.from, a.piece.value, at(y)(worst.at)}}};
  });
  return dispute;
}

// Checks the equation of each parity, where all members are here.
std::optional<Dispute> Witness::compare_members(const TaskCode& code, const Record& record) {
  std::vector<Tensor> members;
  std::vector<const Held*> held;
  for (const plan::Piece& member : code.members) {
    const auto it = std::ranges::find_if(record.pieces, [&](const Held& one) {
      return one.piece.value == member.value && holds(one.piece.region, member.region);
    });
    if (it == record.pieces.end()) return std::nullopt;
    held.push_back(&*it);
    members.push_back(part_of(it->piece, it->elements, member.region));
  }
  const size_t data = code.data_count();
  for (size_t p = 0; p < code.coefficients.size(); ++p) {
    const plan::Misfit misfit =
        plan::find_misfit(std::span(members).first(data), members[data + p], code.coefficients[p],
                          code.axis, record.order->tolerance);
    if (!misfit.found) continue;
    Dispute dispute{index_in(code.members[data + p].region, misfit.at), {}};
    for (size_t m = 0; m < members.size(); ++m) {
      // Data are shorter than parities where shares are uneven.
      if (m >= data && m != data + p) continue;
      const plan::Piece& piece = code.members[m];
      if (dispute.index[code.axis] >= piece.region.end[code.axis]) continue;
      const Region one{dispute.index, [&] {
                         Shape end = dispute.index;
                         for (int64_t& d : end) ++d;
                         return end;
                       }()};
      const Tensor element = crop(members[m], plan::relative(one, piece.region));
      const double said = code.dtype == DType::kI32 ? element.data<int32_t>()[0]
                                                    : static_cast<double>(element.data<float>()[0]);
      dispute.claims.push_back({held[m]->from, piece.value, said});
    }
    return dispute;
  }
  return std::nullopt;
}

}  // namespace shoal::cluster
