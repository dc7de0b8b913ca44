// SPDX-License-Identifier: Apache-2.0
// What an export plan writes: every tensor as the checkpoint's elements cast one by one, in files that the
// reader opens.
#include "tests/core/plan/plan_fixture.h"

#include "core/base/sha256.h"
#include "core/base/string_hash.h"
#include "core/layout/fragments.h"
#include "core/plan/export/export.h"
#include "core/plan/saved/saved_plan.h"
#include "core/tensor/convert.h"
#include "core/torchfile/formats/safetensors_file.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr const char* kSamples[] = {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3",
    "aligned-w2", "zenflow-w2", "slices-w4", "megatron-w2", "pipeline-w4", "experts-w4", "autoep-w4",
    "folded-w4", "stage0-fp32", "stage0-bf16", "muon-w3", "elastic-w3", "ds0144-zero3-w3",
    "zero2-universal-w2/global_step5_universal", "zero3-universal-w3/global_step3_universal"};

ExportOptions optionsOf(ExportOptions options = {})
{
    options.folderName = "out";
    return options;
}

Result<WritePlanPtr> tryPlan(const CheckpointPtr& source, const ExportOptions& options)
{
    JobContext job;
    return planExport(io::realFileSystem(), source, optionsOf(options), job);
}

WritePlanPtr planOf(const CheckpointPtr& source, const ExportOptions& options)
{
    auto plan = tryPlan(source, options);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    return *plan;
}

Error refusalOf(const CheckpointPtr& source, const ExportOptions& options)
{
    const auto plan = tryPlan(source, options);
    REQUIRE_FALSE(plan.has_value());
    return plan.error();
}

struct Written {
    SafeTensor tensor;
    std::string bytes;
};

/// The tensors of a plan's safetensors files by file and name.
std::map<std::string, std::map<std::string, Written>> writtenBy(const WritePlan& plan)
{
    std::map<std::string, std::map<std::string, Written>> out;
    for (size_t i = 0; i < plan.files.size(); ++i) {
        const std::string& path = plan.files[i].path;
        const std::string bytes = plainBytes(plan, i);
        CHECK(bytes.size() == plan.files[i].bytes);
        if (!path.ends_with(".safetensors"))
            continue;
        uint64_t length = 0;
        for (size_t at = 8; at-- > 0;)
            length = (length << 8) | static_cast<uint8_t>(bytes[at]);
        const auto header = parseSafetensors(
            std::string_view(bytes).substr(8, length), 8 + length, bytes.size() - 8 - length, path);
        REQUIRE_MESSAGE(header.has_value(), (header ? "" : describe(header.error())));
        for (const SafeTensor& tensor : header->tensors)
            out[path][tensor.name] = {tensor, bytes.substr(tensor.byteOffset, tensor.bytes)};
    }
    return out;
}

std::string castBytes(const std::vector<uint8_t>& from, DType fromType, DType to)
{
    std::string out(from.size() / itemSize(fromType) * itemSize(to), '\0');
    convertElements(fromType, from, to, {reinterpret_cast<uint8_t*>(out.data()), out.size()});
    return out;
}

std::string sha256Of(const std::string& bytes)
{
    Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    return sha.finishHex();
}

} // namespace

TEST_CASE("every tensor of every kind holds the checkpoint's elements, cast")
{
    for (const char* name : kSamples) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const std::optional<DType> dtype : {std::optional<DType>(), std::optional(DType::Float32),
                 std::optional(DType::BFloat16), std::optional(DType::Float16)}) {
            CAPTURE(std::string(name));
            CAPTURE(castName(dtype));
            const auto plan = planOf(source, {.dtype = dtype});
            const Checkpoint& model = *plan->exported->laidOut;
            const auto files = writtenBy(*plan);
            REQUIRE(files.size() == 1);
            const auto& written = files.at("model.safetensors");
            size_t expected = 0;
            for (const Parameter& param : model.params) {
                CAPTURE(param.name);
                if (param.sharedWith != kNoParam) {
                    CHECK(!written.contains(param.name));
                    continue;
                }
                ++expected;
                REQUIRE(written.contains(param.name));
                const Written& found = written.at(param.name);
                CHECK(found.tensor.shape == param.shape);
                const auto states = statesOf(model, *model.findParam(param.name));
                const auto has = [&](const char* state) {
                    return std::find(states.begin(), states.end(), state) != states.end();
                };
                const std::string state = has("fp32") ? "fp32" : "weight";
                const DType type = findState(model, *model.findParam(param.name), state)->dtype;
                if (dtype)
                    CHECK(found.tensor.dtype == (isFloatingPoint(type) ? *dtype : type));
                else if (has("weight"))
                    CHECK(found.tensor.dtype
                        == findState(model, *model.findParam(param.name), "weight")->dtype);
                if (param.elements > 0)
                    CHECK(found.bytes
                        == castBytes(bytesOf(model, param.name, state), type, found.tensor.dtype));
            }
            CHECK(written.size() == expected);
        }
    }
}

TEST_CASE("masters and weights are what the engine held when it saved")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "zenflow-w2",
             "experts-w4", "autoep-w4", "stage0-fp32", "stage0-bf16"}) {
        CAPTURE(std::string(name));
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto noted
            = nlohmann::json::parse(slurp(planSample(name).string() + ".json")).at("tags").at(source->tag);
        const auto masters = writtenBy(*planOf(source, {.dtype = DType::Float32})).at("model.safetensors");
        size_t compared = 0;
        for (const auto& [param, entry] : noted.at("parameters").items()) {
            CAPTURE(param);
            CHECK(sha256Of(masters.at(param).bytes) == entry.at("states").at("fp32").at("sha256"));
            ++compared;
        }
        CHECK(compared > 10);
        if (std::string(name) == "zenflow-w2")
            continue; // its copies run ahead of the masters
        // The model's own dtypes: the 16-bit copy is the master cast, and buffers are as they are.
        const auto own = writtenBy(*planOf(source, {})).at("model.safetensors");
        for (const auto& [param, entry] : noted.at("weights").items()) {
            CAPTURE(param);
            REQUIRE(own.contains(param));
            CHECK(dtypeName(own.at(param).tensor.dtype) == entry.at("dtype").get<std::string>());
            CHECK(sha256Of(own.at(param).bytes) == entry.at("sha256"));
        }
    }
}

TEST_CASE("names and masters that differ from the model's cause a warning")
{
    const auto warns = [](const char* name, const char* of) {
        const auto plan = planOf(openForPlan(planSample(name)), {});
        return std::any_of(plan->warnings.begin(), plan->warnings.end(), [&](const Finding& warning) {
            return warning.severity == Severity::Warning && warning.message.find(of) != std::string::npos;
        });
    };
    CHECK(warns("zenflow-w2", "ZenFlow"));
    CHECK(warns("autoep-w4", "AutoEP"));
    CHECK(warns("folded-w4", "AutoEP"));
    CHECK(!warns("zero2-w2", "ZenFlow"));
    CHECK(!warns("zero2-w2", "AutoEP"));
}

TEST_CASE("states are written next to the weights, unchanged")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto plan = planOf(source, {.dtype = DType::BFloat16, .states = {"exp_avg", "fp32"}});
    const auto files = writtenBy(*plan);
    REQUIRE(files.size() == 3);
    for (const std::string state : {"exp_avg", "fp32"}) {
        const auto& written = files.at(state + ".safetensors");
        CHECK(written.size() > 10);
        for (const auto& [name, found] : written) {
            CAPTURE(std::string(name));
            const auto bytes = bytesOf(*source, name, state);
            CHECK(found.tensor.dtype == DType::Float32);
            CHECK(found.bytes == std::string(bytes.begin(), bytes.end()));
        }
        CHECK(!written.contains("batches_seen")); // a buffer has no such state
    }
    CHECK(refusalOf(source, {.states = {"exp_avg", "exp_avg"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.states = {"momentum"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.states = {"weight"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.only = {"batches_seen"}, .states = {"exp_avg"}}).code == ErrorCode::Usage);
}

TEST_CASE("files are split at the shard size, with an index that leads to every tensor")
{
    const CheckpointPtr source = openForPlan(planSample("zero3-w4"));
    const auto whole = writtenBy(*planOf(source, {})).at("model.safetensors");
    for (const uint64_t most : {uint64_t{1}, uint64_t{700}, uint64_t{3000}}) {
        CAPTURE(most);
        const auto plan = planOf(source, {.shardBytes = most});
        const auto files = writtenBy(*plan);
        CHECK(files.size() > 1);
        std::map<std::string, std::string> fileOf;
        uint64_t total = 0;
        for (const auto& [path, tensors] : files) {
            uint64_t bytes = 0;
            for (const auto& [name, found] : tensors) {
                CHECK(fileOf.emplace(name, path).second);
                CHECK(found.bytes == whole.at(name).bytes);
                bytes += found.bytes.size();
            }
            CHECK((bytes <= most || tensors.size() == 1));
            total += bytes;
        }
        CHECK(fileOf.size() == whole.size());
        const auto at = std::find_if(plan->files.begin(), plan->files.end(),
            [](const PlannedFile& file) { return file.path == "model.safetensors.index.json"; });
        REQUIRE(at != plan->files.end());
        const auto index
            = nlohmann::json::parse(plainBytes(*plan, static_cast<size_t>(at - plan->files.begin())));
        CHECK(index.at("weight_map").get<std::map<std::string, std::string>>() == fileOf);
        CHECK(index.at("metadata").at("total_size") == total);
    }
    CHECK(refusalOf(source, {.shardBytes = 0}).code == ErrorCode::Usage);
}

TEST_CASE("names are selected, shortened and changed")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto names = [&](const ExportOptions& options) {
        std::set<std::string> out;
        const auto plan = planOf(source, options);
        for (const ExportTensor& tensor : plan->exported->tensors)
            out.insert(tensor.name);
        return out;
    };
    using Names = std::set<std::string>;
    CHECK(names({.only = {"norm.*"}}) == Names{"norm.weight", "norm.bias"});
    CHECK(names({.only = {"norm.*", "batches_?een"}}) == Names{"norm.weight", "norm.bias", "batches_seen"});
    CHECK(names({.only = {"norm.*"}, .stripPrefix = "norm."}) == Names{"weight", "bias"});
    CHECK(names({.only = {"norm.*"}, .renames = {{"norm", "ln_f"}}}) == Names{"ln_f.weight", "ln_f.bias"});
    CHECK(names({.only = {"norm.*"}, .renames = {{"norm.bias", "b"}, {"norm", "n"}}})
        == Names{"b", "n.weight"});
    // `no` is not a part of these names up to a dot.
    CHECK(refusalOf(source, {.only = {"norm.*"}, .renames = {{"no", "x"}}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.only = {"nothing*"}}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.stripPrefix = "module."}).code == ErrorCode::Usage);
    CHECK(refusalOf(source, {.only = {"norm.*"}, .renames = {{"norm.bias", "norm.weight"}}}).code
        == ErrorCode::Usage);
    CHECK(refusalOf(source, {.only = {"norm.bias"}, .stripPrefix = "norm.bias"}).code == ErrorCode::Usage);
}

TEST_CASE("of tied parameters one is written: the owner, or the requested one")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto alias = std::find_if(source->params.begin(), source->params.end(),
        [](const Parameter& param) { return param.sharedWith != kNoParam; });
    REQUIRE(alias != source->params.end());
    const std::string& owner = source->params[index(alias->sharedWith)].name;
    const auto whole = writtenBy(*planOf(source, {})).at("model.safetensors");
    CHECK(whole.contains(owner));
    CHECK(!whole.contains(alias->name));
    const auto alone = writtenBy(*planOf(source, {.only = {alias->name}})).at("model.safetensors");
    REQUIRE(alone.size() == 1);
    CHECK(alone.at(alias->name).bytes == whole.at(owner).bytes);
}

TEST_CASE("a plan is the same for the same source and options, and is read back from its file")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const ExportOptions options{.dtype = DType::Float16,
        .shardBytes = 900,
        .only = {"layers.*", "norm.?ias"},
        .renames = {{"layers.0", "h"}, {"norm", "a=b"}},
        .states = {"exp_avg"}};
    const auto plan = planOf(source, options);
    CHECK(planOf(source, options)->id == plan->id);
    CHECK(planOf(source, options)->description == plan->description);
    std::set<std::string> ids{plan->id};
    for (ExportOptions other : {options, options, options, options}) {
        switch (ids.size()) {
        case 1:
            other.dtype = {};
            break;
        case 2:
            other.states = {};
            break;
        case 3:
            other.renames.pop_back();
            break;
        default:
            other.shardBytes = 901;
            break;
        }
        CHECK(ids.insert(planOf(source, other)->id).second);
    }
    const SavedPlan saved = savePlan(*plan, *source, {}, "/somewhere/out");
    const auto parsed = parseSavedPlan(savedPlanText(saved), "plan.json");
    REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : describe(parsed.error())));
    REQUIRE(std::holds_alternative<ExportOptions>(parsed->options));
    ExportOptions back = std::get<ExportOptions>(parsed->options);
    back.folderName = "elsewhere"; // as `run FILE DST` gives another
    JobContext job;
    const auto again = planExport(io::realFileSystem(), source, back, job);
    REQUIRE(again.has_value());
    CHECK(checkSavedPlan(*parsed, **again).has_value());
    back.dtype = DType::BFloat16;
    const auto other = planExport(io::realFileSystem(), source, back, job);
    REQUIRE(other.has_value());
    CHECK(!checkSavedPlan(*parsed, **other).has_value());
}

TEST_CASE("missing values are refused by name, unless they are allowed")
{
    // ZeRO-3 before 0.9.1 leaves frozen parameters out.
    const CheckpointPtr source = openForPlan(planSample("ds083-zero3-w2"));
    const Error error = refusalOf(source, {});
    CHECK(error.code == ErrorCode::Refused);
    CHECK(error.message.find("positions.weight") != std::string::npos);
    const auto plan = planOf(source, {.allow = {"state-missing"}});
    CHECK(std::any_of(plan->warnings.begin(), plan->warnings.end(), [](const Finding& warning) {
        return warning.code == code::kStateMissing && warning.severity == Severity::Warning;
    }));
    CHECK(planOf(source, {.only = {"norm.*"}})->exported->tensors.size() == 2);
}

TEST_CASE("the files that transformers keeps next to weights are copied")
{
    const TemporaryFolder folder;
    const io::Path run = folder / "run";
    std::filesystem::copy(planSample("zero2-w2"), run, std::filesystem::copy_options::recursive);
    for (const char* name : {"config.json", "tokenizer.json", "merges.txt", "modeling_own.py",
             "trainer_state.json", "train.py", "optimizer.bin"})
        spill(run / name, std::string("content of ") + name);
    std::filesystem::create_directory(run / "vocab.json"); // a folder of that name stays behind
    const auto plan = planOf(openForPlan(run), {});
    std::set<std::string> carried;
    for (size_t i = 0; i < plan->files.size(); ++i) {
        const std::string& path = plan->files[i].path;
        if (path.ends_with(".safetensors"))
            continue;
        carried.insert(path);
        CHECK(plainBytes(*plan, i) == "content of " + path);
    }
    CHECK(carried == std::set<std::string>{"config.json", "tokenizer.json", "merges.txt", "modeling_own.py"});
}

TEST_CASE("weights are exported again, as they are or cast")
{
    const TemporaryFolder folder;
    const auto first
        = planOf(openForPlan(planSample("zero2-w2")), {.dtype = DType::Float32, .shardBytes = 2000});
    plainWrite(*first, folder.path());
    spill(folder / "out/config.json", "{}");
    const CheckpointPtr weights = openForPlan(folder / "out");
    CHECK(weights->kind == CheckpointKind::Weights);
    const auto again = planOf(weights, {});
    CHECK(again->files.size() == 2);
    std::map<std::string, Written> before;
    for (auto& [path, tensors] : writtenBy(*first))
        before.merge(tensors);
    const auto after = writtenBy(*again).at("model.safetensors");
    CHECK(after.size() == before.size());
    for (const auto& [name, found] : after)
        CHECK(found.bytes == before.at(name).bytes);
    const auto halved = writtenBy(*planOf(weights, {.dtype = DType::BFloat16})).at("model.safetensors");
    const auto direct = writtenBy(*planOf(openForPlan(planSample("zero2-w2")), {.dtype = DType::BFloat16}))
                            .at("model.safetensors");
    for (const auto& [name, found] : halved)
        CHECK(found.bytes == direct.at(name).bytes);
}
