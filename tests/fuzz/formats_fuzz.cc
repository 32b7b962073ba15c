// Any bytes as a file of one of the formats that Shoal reads, which the first byte chooses:
// refused, or something whole. A new format is a function and a line of kFormats; seeds of it go
// into make_formats.py.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/commands/plans/cluster_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/math/hash.h"
#include "shoal/base/status.h"
#include "shoal/base/threads/thread_pool.h"
#include "shoal/cluster/device/plan_store.h"
#include "shoal/cluster/messages/sealed_file.h"
#include "shoal/cluster/net/enrol/invitation.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/profiling/profile_store.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/engine/inputs/presets.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/onnx_model.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/data/safetensors.h"

namespace {

using namespace shoal;
namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

// For readers that want a file.
const fs::path& folder() {
  static const TemporaryFolder made = *TemporaryFolder::make();
  return made.path();
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

fs::path write(const char* name, Bytes bytes) {
  const fs::path path = folder() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text_of(bytes);
  return path;
}

// Two files: the first two bytes say where the second begins.
std::pair<Bytes, Bytes> split(Bytes bytes) {
  if (bytes.size() < 2) return {};
  const size_t at = std::to_integer<size_t>(bytes[0]) | std::to_integer<size_t>(bytes[1]) << 8;
  bytes = bytes.subspan(2);
  return {bytes.first(std::min(at, bytes.size())), bytes.subspan(std::min(at, bytes.size()))};
}

void read_all(const Dataset& data) {
  for (size_t i = 0; i < std::min<size_t>(data.size(), 16); ++i) {
    const auto example = data.at(i);
    if (example.ok()) SHOAL_CHECK(example->image.shape().rank() == 3);
    SHOAL_CHECK(!data.place(i).empty());
  }
}

void safetensors(Bytes bytes) {
  const auto file = parse_safetensors(bytes);
  if (!file.ok()) return;
  for (const auto& [name, tensor] : file->tensors) {
    SHOAL_CHECK(tensor.bytes().size() <= bytes.size());
  }
}

void npy(Bytes bytes) {
  const auto array = parse_npy(bytes);
  if (array.ok()) SHOAL_CHECK(array->bytes().size() <= bytes.size());
}

void image(Bytes bytes) {
  const auto image = parse_image(bytes);
  if (!image.ok()) return;
  SHOAL_CHECK(image->shape().rank() == 3 && image->dtype() == DType::kU8);
  if (image->bytes().size() < 1 << 16) (void)preprocess(*image, {.resize = 8, .crop = 8}, 8, 8);
}

// Plain or gzip, as their first bytes say.
void idx(Bytes bytes) {
  const auto [images, labels] = split(bytes);
  write("train-images-idx3-ubyte", images);
  write("train-labels-idx1-ubyte", labels);
  for (const Damaged damaged : {Damaged::kRefuse, Damaged::kSkip}) {
    const auto data = open_dataset(folder(), "idx", Split::kTraining, damaged);
    if (data.ok()) read_all(**data);
  }
}

void cifar(Bytes bytes) {
  write("train.bin", bytes);
  const auto data = open_dataset(folder(), "cifar", Split::kTraining, Damaged::kSkip);
  if (data.ok()) read_all(**data);
}

void labels(Bytes bytes) {
  write("labels.txt", bytes);
  const auto data = open_dataset(folder(), "folder");
  if (!data.ok()) return;
  for (size_t i = 0; i < (*data)->size(); ++i) {
    const fs::path file = fs::path((*data)->place(i)).lexically_normal();
    SHOAL_CHECK(file.string().starts_with(folder().string()));
  }
  read_all(**data);
}

void preset(Bytes bytes) {
  const auto how = parse_preset(text_of(bytes));
  if (how.ok()) SHOAL_CHECK(parse_preset(to_json(*how)).ok());
}

// A model and the file that its weights may be in.
void external_data(Bytes bytes) {
  const auto [model, weights] = split(bytes);
  write("w.bin", weights);
  const auto parsed = onnx::Model::parse(nullptr, model, folder());
  if (!parsed.ok()) return;
  const auto known = onnx::declared_inputs(**parsed);
  if (known.ok()) (void)onnx::bind(*parsed, *known).ok();
}

void pem(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  (void)net::key_of_request(text).ok();
  (void)net::key_from_pem(text).ok();
  (void)net::parse_token(text).ok();
  const auto certificate = net::certificate_from_pem(text);
  if (!certificate.ok()) return;
  const auto subject = net::subject_of(**certificate);
  if (subject.ok()) SHOAL_CHECK(net::is_peer_name(subject->name));
  (void)net::fingerprint_of(**certificate).ok();
}

void check_profile(const plan::ClusterProfile& cluster) {
  SHOAL_CHECK(!cluster.workers.empty() && cluster.workers.size() == cluster.links.size());
  for (const plan::LinkProfile& link : cluster.links) {
    SHOAL_CHECK(link.latency_seconds >= 0 && link.bytes_per_second > 0);
  }
  for (const plan::WorkerProfile& worker : cluster.workers) {
    SHOAL_CHECK(std::isfinite(worker.speed_of("Conv").seconds_per_mac));
  }
}

void cluster_file(Bytes bytes) {
  const auto cluster = config::parse_cluster(text_of(bytes), "cluster.toml");
  if (cluster.ok()) check_profile(*cluster);
}

// The header and the checksum of the directory are right, so that what is behind them is reached.
void packed_cache(Bytes bytes) {
  using Header = cpu::PackedCache::Header;
  using Entry = cpu::PackedCache::Entry;
  static ThreadPool pool(1);
  const fs::path path = folder() / "packed";
  static const Header known = [&] {
    cpu::PackedCache made(path);
    made.add(1, std::make_shared<float>(1.0f), 1);
    SHOAL_CHECK(made.save(pool).ok());
    Header header;
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
    return header;
  }();
  if (bytes.empty()) return;
  const size_t entries = std::min(std::to_integer<size_t>(bytes[0]), bytes.size() / sizeof(Entry));
  std::vector<std::byte> file(sizeof known);
  file.insert(file.end(), bytes.begin() + 1, bytes.end());
  Header header = known;
  header.entries = entries;
  header.check = 0;
  std::memcpy(file.data(), &header, sizeof header);
  const size_t directory = std::min(file.size(), sizeof header + entries * sizeof(Entry));
  header.check = hash_of(Bytes(file).first(directory));
  std::memcpy(file.data(), &header, sizeof header);
  write("packed", file);
  cpu::PackedCache cache(path);
  for (size_t i = 0; i < entries && sizeof header + (i + 1) * sizeof(Entry) <= file.size(); ++i) {
    Entry entry;
    std::memcpy(&entry, file.data() + sizeof header + i * sizeof entry, sizeof entry);
    const auto floats = cache.find(entry.key, static_cast<int64_t>(entry.count), pool);
    if (floats != nullptr) SHOAL_CHECK(entry.count * sizeof(float) <= file.size());
  }
  (void)cache.save(pool).ok();
}

const Graph& small_graph() {
  static const Graph graph = *zoo::build("lenet5");
  return graph;
}

const plan::ClusterProfile& small_cluster() {
  static const plan::ClusterProfile cluster =
      plan::uniform_cluster(2, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  return cluster;
}

// The seal is right: it finds damage, not forgery.
void write_sealed(const fs::path& path, Bytes bytes) {
  SHOAL_CHECK(cluster::write_sealed(path, text_of(bytes), {.durable = false}).ok());
}

void profile(Bytes bytes) {
  static const cluster::ProfileStore store(folder(), small_graph(), {"a", "1"});
  write_sealed(store.file(), bytes);
  // The time of the seed, which make_formats.py cannot know.
  constexpr cluster::ProfileStore::Time kNow{std::chrono::seconds(1'800'000'000)};
  if (const auto known = store.load(kNow)) {
    plan::ClusterProfile cluster;
    cluster.workers = {known->profile};
    cluster.links = {known->link};
    check_profile(cluster);
  }
}

void plan_file(Bytes bytes) {
  static const plan::PlanOptions options;
  static const cluster::PlanStore store(folder(), small_graph(), small_cluster(), options);
  write_sealed(store.file(), bytes);
  (void)store.load().has_value();
}

constexpr std::array kFormats = {safetensors,  npy,     image,         idx, cifar,
                                 labels,       preset,  external_data, pem, cluster_file,
                                 packed_cache, profile, plan_file};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // Letters, so that seeds can be read: 'a' is the first format.
  const size_t format = static_cast<size_t>(data[0] - 'a');
  if (format >= kFormats.size()) return 0;
  kFormats[format](std::as_bytes(std::span(data + 1, size - 1)));
  return 0;
}
