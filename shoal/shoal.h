// Everything of Shoal that is public, in one header. Smaller ones do, too: what a program includes
// of this list is all it depends on, and nothing else is installed.
//
//   auto device = shoal::make_cpu_device();
//   auto session = shoal::Session::open("model.onnx", *device);
//   auto answers = session->run({{"input", image}});
#pragma once

// Failures are values.
#include "shoal/base/status.h"

// Arrays, and networks of operators.
#include "shoal/model/graph/graph.h"
#include "shoal/model/graph/operator.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/find.h"
#include "shoal/model/tensor/dtype.h"
#include "shoal/model/tensor/tensor.h"

// A model on a device.
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/device/failover.h"
#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/gpu/plan/options.h"
#include "shoal/engine/gpu/plan/precision.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/onnx/export/sparse_storage.h"
#include "shoal/video/keyframe/flow.h"
#include "shoal/video/keyframe/pipeline.h"
#include "shoal/video/keyframe/split.h"
#if __has_include("shoal/engine/opencl/opencl.h")  // not with SHOAL_OPENCL=OFF
#include "shoal/engine/opencl/opencl.h"
#endif
#include "shoal/engine/session/session.h"
#if __has_include("shoal/engine/vulkan/vulkan.h")  // not with SHOAL_VULKAN=OFF
#include "shoal/engine/vulkan/vulkan.h"
#endif
#include "shoal/model/zoo/zoo.h"
#include "shoal/video/windows/window_runner.h"

// A model on several devices.
#include "shoal/plan/summary.h"
#if __has_include("shoal/cluster/cluster.h")  // not with SHOAL_CLUSTER=OFF
#include "shoal/cluster/cluster.h"
#endif

// Training and compression.
#include "shoal/shrink/compress/methods/int8.h"
#include "shoal/shrink/compress/methods/methods.h"
#include "shoal/shrink/compress/quantization/quantize.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/nest.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/compress/units/target.h"
#include "shoal/train/privacy/privacy_options.h"
#include "shoal/train/step/optimizer/schedule.h"
#include "shoal/train/step/trainer/trainer.h"
#include "shoal/train/step/weights/initial_weights.h"

// Images, arrays and data sets, and training and evaluation on them, unless Shoal was built without
// (SHOAL_DATA=OFF).
#if __has_include("shoal/train/data/dataset.h")
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/inputs/jpeg.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/engine/run/scores.h"
#include "shoal/shrink/branches/learn_branches.h"
#include "shoal/shrink/branches/make_branches.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/shrink/exits/learning/add_exits.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/shrink/fit_cluster/fit_cluster.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/shrink/prune/tprune.h"
#include "shoal/shrink/retraining/calibration_files.h"
#include "shoal/shrink/search/search.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/data/safetensors.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/loop/train.h"
#include "shoal/variants/catalog/builder/build.h"
#include "shoal/variants/catalog/catalog.h"
#include "shoal/variants/catalog/make_variants.h"
#include "shoal/variants/catalog/specialists/specialise.h"
#include "shoal/video/detect/detection.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/detect/precision.h"
#include "shoal/video/faces/evaluation/evaluation.h"
#include "shoal/video/faces/recognition/align.h"
#include "shoal/video/faces/recognition/cascade.h"
#include "shoal/video/faces/recognition/database.h"
#include "shoal/video/faces/recognition/embedder.h"
#include "shoal/video/faces/recognition/recent_faces.h"
#include "shoal/video/faces/recognition/recogniser.h"
#include "shoal/video/mqtt/client.h"
#include "shoal/video/mqtt/reporter.h"
#include "shoal/video/query/index.h"
#include "shoal/video/query/video_query.h"
#include "shoal/video/track/assignment.h"
#include "shoal/video/track/box_motion.h"
#include "shoal/video/track/mot_metrics.h"
#include "shoal/video/track/tracker.h"
#include "shoal/video/watch/frames/frame_source.h"
#include "shoal/video/watch/frames/key_frames.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/frames/scene.h"
#include "shoal/video/watch/frames/video_source.h"
#include "shoal/video/watch/output/clips.h"
#include "shoal/video/watch/output/draw.h"
#include "shoal/video/watch/places/activity.h"
#include "shoal/video/watch/run/evaluation.h"
#include "shoal/video/watch/run/gate.h"
#include "shoal/video/watch/run/watch.h"
#endif
