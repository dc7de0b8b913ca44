// SPDX-License-Identifier: Apache-2.0
// Which parameters of a PeftModel are those of its LoRA adapter, and what is made of them.
#include "tests/core/plan/plan_fixture.h"

#include "core/plan/export/adapter_parts.h"
#include "core/plan/export/export.h"
#include "tests/support/damages.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

const std::string kLayer = "base_model.model.model.layers.0.";

/// A sample with the parameter names of a PeftModel.
struct Model {
    explicit Model(std::vector<std::pair<std::string, std::string>> names)
        : renames(std::move(names))
    {
        std::filesystem::copy(
            planSample("zero2-w2"), folder / "run", std::filesystem::copy_options::recursive);
    }

    Result<WritePlanPtr> plan(const std::vector<std::string>& adapterOptions = {},
        const std::vector<std::string>& only = {}, const std::string& stripped = {}) const
    {
        JobContext job;
        ExportOptions options{.format = ExportFormat::Adapter,
            .only = only,
            .stripPrefix = stripped,
            .renames = renames,
            .adapterOptions = adapterOptions,
            .folderName = "out"};
        return planExport(io::realFileSystem(), openForPlan(folder / "run"), options, job);
    }
    [[nodiscard]] std::set<std::string> names(const std::vector<std::string>& adapterOptions = {}) const
    {
        const auto made = plan(adapterOptions);
        REQUIRE_MESSAGE(made.has_value(), (made ? "" : describe(made.error())));
        std::set<std::string> out;
        for (const ExportTensor& tensor : (*made)->exported->tensors)
            out.insert(tensor.name);
        return out;
    }
    [[nodiscard]] Json madeConfig(const std::vector<std::string>& adapterOptions) const
    {
        const auto made = plan(adapterOptions);
        REQUIRE_MESSAGE(made.has_value(), (made ? "" : describe(made.error())));
        REQUIRE((*made)->files.back().path == "adapter_config.json");
        return Json::parse(plainBytes(**made, (*made)->files.size() - 1));
    }
    void configure(const Json& config, const std::string& at = "run/adapter_config.json") const
    {
        std::filesystem::create_directories((folder / at).parent_path());
        spill(folder / at, config.dump());
    }
    [[nodiscard]] Error refusal(
        const std::vector<std::string>& adapterOptions = {}, const std::string& stripped = {}) const
    {
        const auto made = plan(adapterOptions, {}, stripped);
        REQUIRE_FALSE(made.has_value());
        return made.error();
    }

    TemporaryFolder folder;
    std::vector<std::pair<std::string, std::string>> renames;
};

/// Two projections with a LoRA of rank 16 and 48, a saved head, and biases of theirs.
Model twoProjections()
{
    return Model({{"layers.0.attention.wq.weight", kLayer + "q_proj.lora_A.default.weight"},
        {"layers.0.attention.wk.weight", kLayer + "q_proj.lora_B.default.weight"},
        {"layers.0.mlp.up.weight", kLayer + "up_proj.lora_A.default.weight"},
        {"layers.0.mlp.down.weight", kLayer + "up_proj.lora_B.default.weight"},
        {"layers.0.mlp.up.bias", kLayer + "up_proj.base_layer.bias"},
        {"layers.0.attention.wo", "base_model.model.model.other.up_proj"},
        {"tok_embeddings.weight", "base_model.model.lm_head.modules_to_save.default.weight"}});
}

Json configOf(const char* biases = "none")
{
    return {{"peft_type", "LORA"}, {"r", 16}, {"rank_pattern", {{"up_proj", 48}}}, {"bias", biases},
        {"lora_alpha", 4}, {"target_modules", {"q_proj", "up_proj"}}};
}

} // namespace

TEST_CASE("an adapter's name is removed from its parameters, as PEFT does")
{
    const auto keyOf = [](const std::string& name) {
        const auto part = adapterPart(name);
        return part ? part->key + "|" + part->module + "|" + part->adapter : std::string();
    };
    CHECK(keyOf("base_model.model.a.q.lora_A.default.weight")
        == "base_model.model.a.q.lora_A.weight|base_model.model.a.q|default");
    CHECK(keyOf("base_model.model.a.q.lora_B.mine.bias")
        == "base_model.model.a.q.lora_B.bias|base_model.model.a.q|mine");
    CHECK(keyOf("base_model.model.e.lora_embedding_A.default")
        == "base_model.model.e.lora_embedding_A|base_model.model.e|default");
    CHECK(keyOf("base_model.model.q.lora_magnitude_vector.default.weight")
        == "base_model.model.q.lora_magnitude_vector|base_model.model.q|default");
    CHECK(keyOf("base_model.model.q.lora_magnitude_vector.default")
        == "base_model.model.q.lora_magnitude_vector|base_model.model.q|default");
    CHECK(keyOf("base_model.model.score.modules_to_save.default.dense.weight")
        == "base_model.model.score.dense.weight|base_model.model.score|default");
    CHECK(keyOf("base_model.model.default.lora_A.default.weight")
        == "base_model.model.default.lora_A.weight|base_model.model.default|default");
    // A LoRA's name may have no adapter's name, as in PEFT's own files.
    CHECK(keyOf("base_model.model.a.q.lora_A.weight")
        == "base_model.model.a.q.lora_A.weight|base_model.model.a.q|");
    CHECK(keyOf("base_model.model.a.q.lora_B.bias")
        == "base_model.model.a.q.lora_B.bias|base_model.model.a.q|");
    CHECK(keyOf("base_model.model.e.lora_embedding_A.weight")
        == "base_model.model.e.lora_embedding_A|base_model.model.e|weight"); // that is an adapter's name
    CHECK(keyOf("base_model.model.q.base_layer.weight").empty());
    CHECK(keyOf("base_model.model.score.original_module.weight").empty());
    CHECK(keyOf("lora_A.default.weight").empty());
    CHECK(keyOf("a.lora_A").empty());
    CHECK(keyOf("a.lora_A.default.own.weight").empty());
    CHECK(otherPeftMethod("base_model.model.q.ia3_l.default", false) == "IA3");
    CHECK(otherPeftMethod("base_model.model.q.ia3_l.default", true).empty());
    CHECK(otherPeftMethod("base_model.model.q.lora_E.default", true) == "AdaLoRA");
    CHECK(otherPeftMethod("base_model.model.q.base_layer.weight", false).empty());
}

TEST_CASE("only the adapter is written, with the configuration next to the checkpoint")
{
    const Model model = twoProjections();
    spill(model.folder / "run/tokenizer.json", "{}");
    spill(model.folder / "run/config.json", "{}");
    const std::set<std::string> alone{kLayer + "q_proj.lora_A.weight", kLayer + "q_proj.lora_B.weight",
        kLayer + "up_proj.lora_A.weight", kLayer + "up_proj.lora_B.weight",
        "base_model.model.lm_head.weight"};
    std::set<std::string> files;
    for (const char* at : {"run/adapter_config.json", "run/default/adapter_config.json",
             "run/global_step6/adapter_config.json"}) {
        CAPTURE(std::string(at));
        model.configure(configOf(), at);
        CHECK(model.names() == alone);
        const auto plan = *model.plan();
        files.clear();
        for (size_t i = 0; i < plan->files.size(); ++i) {
            files.insert(plan->files[i].path);
            if (plan->files[i].path == "adapter_config.json")
                CHECK(plainBytes(*plan, i) == configOf().dump());
        }
        CHECK(files
            == std::set<std::string>{"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"});
        std::filesystem::remove(model.folder / at);
    }
    model.configure(configOf("lora_only"));
    auto biased = alone;
    biased.insert(kLayer + "up_proj.base_layer.bias");
    CHECK(model.names() == biased);
    model.configure(configOf("all"));
    CHECK(model.names().contains("base_model.model.model.other.up_proj.bias"));
    CHECK(model.names().size() > biased.size());
    const auto plan = *model.plan();
    CHECK(std::any_of(plan->warnings.begin(), plan->warnings.end(), [](const Finding& warning) {
        return warning.message.find("PEFT does not keep") != std::string::npos;
    }));
}

TEST_CASE("targeted embeddings are saved with their adapter")
{
    const Model model(
        {{"layers.0.attention.wq.weight", "base_model.model.model.embed_tokens.lora_embedding_A.default"},
            {"layers.0.attention.wk.weight", "base_model.model.model.embed_tokens.lora_embedding_B.default"},
            {"tok_embeddings.weight", "base_model.model.model.embed_tokens.base_layer.weight"}});
    Json config{{"peft_type", "LORA"}, {"r", 16}, {"target_modules", {"embed_tokens"}}};
    const std::string base = "base_model.model.model.embed_tokens.base_layer.weight";
    model.configure(config);
    CHECK(model.names().contains(base));
    config["target_modules"] = {"model.embed_tokens"}; // which PEFT does not count as one
    model.configure(config);
    CHECK(!model.names().contains(base));
    config["target_modules"] = ".*embed_tokens";
    model.configure(config);
    CHECK(model.names().contains(base));
}

TEST_CASE("a missing configuration is built from names and shapes, and the rest is requested")
{
    const Model model = twoProjections();
    const Error error = model.refusal();
    CHECK(error.code == ErrorCode::Refused);
    CHECK(error.message.find("lora_alpha") != std::string::npos);
    const Json config
        = model.madeConfig({"lora_alpha=16", "base_model_name_or_path=some/model", "use_rslora=true"});
    CHECK(config.at("peft_type") == "LORA");
    CHECK(config.at("lora_alpha") == 16);
    CHECK(config.at("use_rslora") == true);
    CHECK(config.at("base_model_name_or_path") == "some/model");
    CHECK(config.at("r") == 16);
    CHECK(config.at("rank_pattern") == Json({{"model\\.layers\\.0\\.up_proj", 48}}));
    // `up_proj` is also the name of a module without an adapter.
    CHECK(config.at("target_modules") == Json({"model.layers.0.up_proj", "q_proj"}));
    CHECK(config.at("modules_to_save") == Json({"lm_head"}));
    CHECK(config.at("use_dora") == false);
    CHECK(config.at("bias") == "all"); // those of other modules are trained, too
    CHECK(model.names({"lora_alpha=16"}).contains(kLayer + "up_proj.base_layer.bias"));
    CHECK(model.refusal({"lora_alpha"}).code == ErrorCode::Usage);
    CHECK(model.refusal({"=3"}).code == ErrorCode::Usage);
    CHECK(model.refusal({"lora_alpha=1", "r=3"}).code == ErrorCode::Usage);
    model.configure(configOf());
    CHECK(model.refusal({"lora_alpha=1"}).code == ErrorCode::Usage);
}

TEST_CASE("other adapters and configurations of another adapter are refused by name")
{
    const Model none({});
    CHECK(none.refusal().code == ErrorCode::Refused);
    const Model other({{"layers.0.attention.wq.weight", kLayer + "q_proj.ia3_l.default"}});
    CHECK(other.refusal().code == ErrorCode::Unsupported);
    CHECK(other.refusal().message.find("IA3") != std::string::npos);
    const Model tokens({{"layers.0.attention.wq.weight", kLayer + "q_proj.lora_A.default.weight"},
        {"norm.weight", "base_model.model.e.token_adapter.trainable_tokens_delta.default"}});
    CHECK(tokens.refusal().message.find("trainable tokens") != std::string::npos);

    const Model model = twoProjections();
    Json config = configOf();
    config["peft_type"] = "ADALORA";
    model.configure(config);
    CHECK(model.refusal().code == ErrorCode::Unsupported);
    CHECK(model.refusal().message.find("ADALORA") != std::string::npos);
    config = configOf();
    config["r"] = 15;
    model.configure(config);
    CHECK(model.refusal().code == ErrorCode::Refused);
    config = configOf();
    config["trainable_token_indices"] = {1, 2};
    model.configure(config);
    CHECK(model.refusal().code == ErrorCode::Unsupported);
    spill(model.folder / "run/adapter_config.json", "{");
    CHECK(model.refusal().code == ErrorCode::Refused);

    const Model several({{"layers.0.attention.wq.weight", kLayer + "q_proj.lora_A.one.weight"},
        {"layers.0.attention.wk.weight", kLayer + "q_proj.lora_A.two.weight"}});
    CHECK(several.refusal({"lora_alpha=1"}).code == ErrorCode::Usage);
    CHECK(several.refusal({"lora_alpha=1"}).message.find("`two`") != std::string::npos);
    const Model wrapped({{"layers.0.attention.wq.weight", "net." + kLayer + "q_proj.lora_A.default.weight"}});
    CHECK(wrapped.refusal({"lora_alpha=1"}).hint.text.find("--strip-prefix") != std::string::npos);
}

TEST_CASE("`weight` is no adapter's name")
{
    const Model unnamed({{"layers.0.attention.wq.weight", kLayer + "q_proj.lora_A.weight"},
        {"layers.0.attention.wk.weight", kLayer + "q_proj.lora_B.weight"}});
    for (const char* name : {"q_proj.lora_A.weight", "q_proj.lora_B.weight"})
        CHECK(unnamed.names({"lora_alpha=1"}).contains(kLayer + name));
    // Next to an adapter with a name, such parameters are the model's own.
    const Model both({{"layers.0.attention.wq.weight", kLayer + "q_proj.lora_A.default.weight"},
        {"layers.0.attention.wk.weight", kLayer + "q_proj.lora_B.default.weight"},
        {"layers.0.mlp.up.weight", kLayer + "own.lora_A.weight"}});
    const std::set<std::string> names = both.names({"lora_alpha=1"});
    CHECK(names.contains(kLayer + "q_proj.lora_A.weight"));
    CHECK(!names.contains(kLayer + "own.lora_A.weight"));
}

TEST_CASE("an adapter that was saved without the model is named as such")
{
    for (const char* sample : {"zero3-w4", "zero2-w2"}) {
        CAPTURE(std::string(sample));
        const Patchable copy(sample);
        const bool zero3 = std::string(sample) == "zero3-w4";
        const auto edit = [&](const std::function<void(Surgery&)>& change) {
            copy.operateOnAll("model_states.pt", change);
        };
        for (const auto& [from, to] :
            {std::pair("layers.0.attention.wq.weight", "q_proj.lora_A.default.weight"),
                std::pair("layers.0.attention.wk.weight", "q_proj.lora_B.default.weight")}) {
            edit([&](Surgery& surgery) { surgery.rename({"param_shapes", 0}, from, kLayer + to); });
            edit([&](Surgery& surgery) { surgery.rename({"module"}, from, kLayer + to); });
        }
        if (!zero3) // a tensor of its own
            edit([](Surgery& surgery) {
                surgery.editTensor({"module", "lm_head.weight"}, [](std::string&) {});
            });
        // exclude_frozen_parameters leaves out the owner of a tie, and not the other name.
        edit([](Surgery& surgery) { surgery.remove({"module"}, "positions.weight"); });
        edit([](Surgery& surgery) {
            surgery.set({"frozen_param_shapes"}, surgery.builder().none());
            surgery.set({"frozen_param_fragments"}, surgery.builder().none());
            if (lookup(surgery.graph(), surgery.at({"shared_params"}), "lm_head.weight") != kNoNode) // rank 0
                surgery.set(
                    {"shared_params", "lm_head.weight"}, surgery.builder().string("positions.weight"));
        });
        JobContext job;
        ExportOptions options{.folderName = "out"};
        const auto plain = planExport(io::realFileSystem(), openForPlan(copy.run()), options, job);
        if (zero3) {
            REQUIRE(!plain.has_value());
            CHECK(plain.error().code == ErrorCode::Refused);
            CHECK(plain.error().message.find("were not saved (exclude_frozen_parameters)")
                != std::string::npos);
            CHECK(plain.error().message.find("`lm_head.weight`") != std::string::npos);
            CHECK(plain.error().hint.text.find("--format adapter") != std::string::npos);
            CHECK(plain.error().hint.text.find("--tie") == std::string::npos);
            options.allow = {"state-missing", "alias-unrecorded"};
        }
        const auto partial = planExport(io::realFileSystem(), openForPlan(copy.run()), options, job);
        REQUIRE_MESSAGE(partial.has_value(), (partial ? "" : describe(partial.error())));
        CHECK(std::ranges::any_of((*partial)->warnings, [](const Finding& warning) {
            return warning.message.find("`--format adapter`") != std::string::npos;
        }));
        CHECK(std::ranges::any_of((*partial)->exported->tensors, [](const ExportTensor& tensor) {
            return tensor.name == "lm_head.weight";
        }) == !zero3); // ZeRO-2 keeps it under the other name
        options.format = ExportFormat::Adapter;
        options.adapterOptions = {"lora_alpha=1"};
        const auto adapter = planExport(io::realFileSystem(), openForPlan(copy.run()), options, job);
        REQUIRE_MESSAGE(adapter.has_value(), (adapter ? "" : describe(adapter.error())));
        CHECK(std::ranges::any_of((*adapter)->exported->tensors,
            [](const ExportTensor& tensor) { return tensor.name == kLayer + "q_proj.lora_B.weight"; }));
    }
}
