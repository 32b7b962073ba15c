/* Training, saving and planning, as a C program uses them. */
#include "c_test.h"

enum { BATCH = 4, SIDE = 28 };
static const int64_t batch_shape[] = {BATCH, 1, SIDE, SIDE};
static const int64_t label_shape[] = {BATCH};

static shoal_trainer* new_trainer(const shoal_trainer_options* options) {
  shoal_model* model = NULL;
  shoal_trainer* trainer = NULL;
  ok(shoal_model_open("zoo:lenet5", &model));
  ok(shoal_trainer_create(model, NULL, options, &trainer));
  shoal_model_free(model);
  return trainer;
}

/* Four images with a bright square in one corner each, and which corner it is. */
static void make_batch(shoal_tensor** images, shoal_tensor** labels) {
  ok(shoal_tensor_create(SHOAL_F32, 4, batch_shape, images));
  ok(shoal_tensor_create(SHOAL_I64, 1, label_shape, labels));
  float* pixels = shoal_tensor_mutable_data(*images);
  int64_t* corners = shoal_tensor_mutable_data(*labels);
  for (int n = 0; n < BATCH; ++n) {
    corners[n] = n;
    for (int y = 0; y < SIDE / 2; ++y) {
      for (int x = 0; x < SIDE / 2; ++x) {
        pixels[(n * SIDE + y + n / 2 * SIDE / 2) * SIDE + x + n % 2 * SIDE / 2] = 1;
      }
    }
  }
}

static void training_lowers_the_loss_and_is_kept(const char* folder) {
  shoal_trainer_options options = SHOAL_TRAINER_OPTIONS_INIT;
  options.batch = BATCH;
  options.rule = SHOAL_ADAM;
  options.rate = 0.01f;
  options.from_scratch = 1;
  options.classes = BATCH;
  shoal_trainer* trainer = new_trainer(&options);
  shoal_tensor* images = NULL;
  shoal_tensor* labels = NULL;
  make_batch(&images, &labels);
  float first = 0, last = 0;
  ok(shoal_trainer_step(trainer, images, labels, 1, &first));
  for (int i = 0; i < 30; ++i) ok(shoal_trainer_step(trainer, images, labels, 1, &last));
  CHECK(last < first / 4);
  ok(shoal_trainer_step(trainer, images, labels, 1, NULL));

  char path[1024];
  snprintf(path, sizeof path, "%s/trained.onnx", folder);
  ok(shoal_trainer_save(trainer, path));
  shoal_model* models[2] = {NULL, NULL};
  ok(shoal_trainer_model(trainer, &models[0]));
  ok(shoal_model_open(path, &models[1]));
  for (int i = 0; i < 2; ++i) { /* both answer as the trainer learned */
    shoal_value_info info = SHOAL_VALUE_INFO_INIT;
    shoal_session* session = NULL;
    shoal_result* result = NULL;
    ok(shoal_model_input(models[i], 0, &info));
    ok(shoal_session_open(models[i], NULL, &session));
    const shoal_tensor* inputs[] = {images};
    ok(shoal_session_run(session, 1, &info.name, inputs, NULL, &result));
    const float* scores = shoal_tensor_data(shoal_result_tensor(result, 0));
    for (int n = 0; n < BATCH; ++n) {
      for (int c = 0; c < BATCH; ++c)
        CHECK(c == n || scores[n * BATCH + c] < scores[n * BATCH + n]);
    }
    shoal_result_free(result);
    shoal_session_free(session);
    shoal_model_free(models[i]);
  }
  shoal_tensor_free(images);
  shoal_tensor_free(labels);
  shoal_trainer_free(trainer);
}

static float first_loss(int from_scratch, uint64_t seed) {
  shoal_trainer_options options = SHOAL_TRAINER_OPTIONS_INIT;
  options.batch = BATCH;
  options.from_scratch = from_scratch;
  options.seed = seed;
  shoal_trainer* trainer = new_trainer(&options);
  shoal_tensor* images = NULL;
  shoal_tensor* labels = NULL;
  float loss = 0;
  make_batch(&images, &labels);
  ok(shoal_trainer_step(trainer, images, labels, 1, &loss));
  shoal_tensor_free(images);
  shoal_tensor_free(labels);
  shoal_trainer_free(trainer);
  return loss;
}

static void fresh_weights_follow_from_the_seed(void) {
  CHECK(first_loss(1, 5) == first_loss(1, 5));
  CHECK(first_loss(1, 5) != first_loss(1, 6));
  CHECK(first_loss(0, 5) == first_loss(0, 6)); /* those of the model */
}

static void wrong_training_is_refused(const char* folder) {
  shoal_trainer_options options = SHOAL_TRAINER_OPTIONS_INIT;
  options.batch = BATCH;
  shoal_trainer* trainer = new_trainer(&options);
  shoal_tensor* images = NULL;
  shoal_tensor* labels = NULL;
  shoal_model* model = NULL;
  shoal_trainer* none = NULL;
  char path[1024];
  float loss = 0;
  const shoal_code bad = SHOAL_INVALID_ARGUMENT;
  make_batch(&images, &labels);
  CHECK(fails(shoal_trainer_step(trainer, labels, labels, 1, &loss), bad, "batch"));
  CHECK(fails(shoal_trainer_step(trainer, images, images, 1, &loss), bad, "batch"));
  CHECK(fails(shoal_trainer_step(trainer, NULL, labels, 1, &loss), bad, "inputs"));
  CHECK(fails(shoal_trainer_step(trainer, images, NULL, 1, &loss), bad, "targets"));
  CHECK(fails(shoal_trainer_step(NULL, images, labels, 1, &loss), bad, "trainer"));
  CHECK(fails(shoal_trainer_save(trainer, NULL), bad, "path"));
  snprintf(path, sizeof path, "%s/no/such/folder/x.onnx", folder);
  CHECK(fails(shoal_trainer_save(trainer, path), SHOAL_NOT_FOUND, ""));
  CHECK(fails(shoal_trainer_model(trainer, NULL), bad, "out"));
  ok(shoal_model_open("zoo:lenet5", &model));
  CHECK(fails(shoal_trainer_create(NULL, NULL, &options, &none), bad, "model"));
  options.batch = 0;
  CHECK(fails(shoal_trainer_create(model, NULL, &options, &none), bad, "batch"));
  options.batch = 1;
  options.rule = 9;
  CHECK(fails(shoal_trainer_create(model, NULL, &options, &none), bad, "9"));
  CHECK(none == NULL);
  shoal_model_free(model);
  shoal_tensor_free(images);
  shoal_tensor_free(labels);
  shoal_trainer_free(trainer);
}

static void model_is_saved(const char* folder) {
  char path[1024];
  shoal_model* model = NULL;
  shoal_model* again = NULL;
  snprintf(path, sizeof path, "%s/lenet5.onnx", folder);
  ok(shoal_model_open("zoo:lenet5", &model));
  ok(shoal_model_save(model, path));
  ok(shoal_model_open(path, &again));
  CHECK(shoal_model_input_count(again) == 1);
  CHECK(fails(shoal_model_save(model, NULL), SHOAL_INVALID_ARGUMENT, "path"));
  CHECK(fails(shoal_model_save(NULL, path), SHOAL_INVALID_ARGUMENT, "model"));
  shoal_model_free(model);
  shoal_model_free(again);
}

static void plan_is_one_json_object(void) {
  static const char* const fields[] = {
      "\"model\":",   "\"kind\":",         "\"predicted_ms\":", "\"cluster_ms\":", "\"single_ms\":",
      "\"speedup\":", "\"wire_bytes\":",   "\"halo_bytes\":",   "\"messages\":",   "\"error\":",
      "\"workers\":", "\"alternatives\":", "\"why_slower\":",   "\"advice\":",     "\"plan\":"};
  shoal_plan_options options = SHOAL_PLAN_OPTIONS_INIT;
  shoal_model* model = NULL;
  char* json = NULL;
  ok(shoal_model_open("zoo:lenet5", &model));
  ok(shoal_plan(model, NULL, &json));
  CHECK(json[0] == '{' && json[strlen(json) - 1] == '}');
  for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); ++i) {
    CHECK(strstr(json, fields[i]) != NULL);
  }
  CHECK(strstr(json, "\"zoo:lenet5\"") != NULL && strstr(json, "pi4-3") != NULL);
  shoal_string_free(json);
  json = NULL;
  options.device = "abacus";
  CHECK(fails(shoal_plan(model, &options, &json), SHOAL_INVALID_ARGUMENT, "abacus"));
  options.device = "nexus5";
  options.workers = -1;
  CHECK(fails(shoal_plan(model, &options, &json), SHOAL_INVALID_ARGUMENT, "workers"));
  CHECK(fails(shoal_plan(NULL, NULL, &json), SHOAL_INVALID_ARGUMENT, "model"));
  CHECK(fails(shoal_plan(model, NULL, NULL), SHOAL_INVALID_ARGUMENT, "json"));
  CHECK(json == NULL);
  shoal_model_free(model);
}

void test_training_and_plans(const char* folder) {
  training_lowers_the_loss_and_is_kept(folder);
  fresh_weights_follow_from_the_seed();
  wrong_training_is_refused(folder);
  model_is_saved(folder);
  plan_is_one_json_object();
}
