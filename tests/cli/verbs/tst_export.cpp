// SPDX-License-Identifier: Apache-2.0
// `export` as a process: its files, refusals and answers.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"

#include <doctest/doctest.h>

#include <set>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Words exportOf(const fs::path& source, const fs::path& target, const Words& more = {})
{
    Words out{"export", source, target, "--format", "safetensors"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

/// Names and contents, without times, and without sizes of directories.
std::set<std::string> namesIn(const fs::path& folder)
{
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder))
        out.insert(entry.path().filename().string());
    return out;
}

Json headerOf(const fs::path& file)
{
    const std::string bytes = slurp(file);
    uint64_t length = 0;
    for (size_t i = 8; i-- > 0;)
        length = (length << 8) | static_cast<uint8_t>(bytes[i]);
    return Json::parse(bytes.substr(8, length));
}

} // namespace

TEST_CASE("export writes one folder that holds all of it")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    spill(run / "config.json", "{}");
    const auto before = contentOf(run);
    const Json answer
        = answerOf(exportOf(run, folder / "out", {"--dtype", "bf16", "--states", "exp_avg,fp32"}));
    CHECK(contentOf(run) == before);
    const Json& plan = answer.at("plan");
    CHECK(plan.at("kind") == "weights");
    CHECK(plan.at("format") == "safetensors");
    CHECK(plan.at("dtype") == "bf16");
    CHECK(plan.at("target") == "out");
    CHECK(answer.at("result").at("verified") == true);
    CHECK(answer.at("result").at("output") == (folder / "out").string());
    CHECK(namesIn(folder / "out")
        == std::set<std::string>{"config.json", "exp_avg.safetensors", "fp32.safetensors",
            "model.safetensors", "shardscope.json"});
    CHECK(namesIn(folder.path()) == std::set<std::string>{"out", "zero2-w2"});
    std::set<std::string> planned;
    uint64_t bytes = 0;
    for (const Json& file : plan.at("files")) {
        planned.insert(file.at("path").get<std::string>());
        CHECK(fs::file_size(folder / "out" / file.at("path").get<std::string>()) == file.at("bytes"));
        bytes += file.at("bytes").get<uint64_t>();
    }
    CHECK(planned.size() == 4);
    CHECK(plan.at("writes_bytes") == bytes);
    const Json header = headerOf(folder / "out/model.safetensors");
    CHECK(header.at("__metadata__") == Json({{"format", "pt"}}));
    CHECK(header.at("norm.weight").at("dtype") == "BF16");
    CHECK(header.at("batches_seen").at("dtype") == "I64"); // no floating-point number
    CHECK(headerOf(folder / "out/exp_avg.safetensors").at("norm.weight").at("dtype") == "F32");

    // The output can be read like any weights.
    CHECK(answerOf({"inspect", folder / "out"}).at("kind") == "weights");
    const Json shown = answerOf({"show", folder / "out", "norm.weight"});
    CHECK(shown.at("dtype") == "bfloat16");
    CHECK(shown.at("values").size() == 16);
    const Json verified = answerOf({"verify", folder / "out"});
    CHECK(verified.at("ok") == true);
    CHECK(verified.at("manifest") == true);
    CHECK(verified.at("files") == 4);
    CHECK(verified.at("fingerprint").is_null());
    errorOf({"verify", folder / "out", "--against", run}, 4, "unsupported");
    // The manifest is the same wherever it was written.
    answerOf(exportOf(run, folder / "other", {"--dtype", "bf16", "--states", "exp_avg,fp32"}));
    CHECK(contentOf(folder / "other") == contentOf(folder / "out"));
}

TEST_CASE("verify finds every changed byte of an export")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    spill(run / "config.json", "{}");
    answerOf(exportOf(run, folder / "out", {"--states", "exp_avg"}));
    for (const std::string name : {"model.safetensors", "exp_avg.safetensors", "config.json"}) {
        CAPTURE(name);
        const std::string bytes = slurp(folder / "out" / name);
        std::string changed = bytes;
        changed.back() = static_cast<char>(changed.back() ^ 1);
        spill(folder / "out" / name, changed);
        const Json found = answerOf({"verify", folder / "out"}, 1);
        CHECK(found.at("problems")[0].at("where") == name);
        fs::remove(folder / "out" / name);
        if (name != "model.safetensors")
            answerOf({"verify", folder / "out"}, 1);
        spill(folder / "out" / name, bytes);
    }
    CHECK(answerOf({"verify", folder / "out"}).at("ok") == true);
    std::string manifest = slurp(folder / "out/shardscope.json");
    manifest.replace(manifest.find("config.json"), 11, "../config.j");
    spill(folder / "out/shardscope.json", manifest);
    answerOf({"verify", folder / "out"}, 1);
    fs::remove(folder / "out/shardscope.json");
    errorOf({"verify", folder / "out"}, 4, "unsupported");
}

TEST_CASE("export in torch's form, too")
{
    const TemporaryFolder folder;
    const Json answer = answerOf({"export", samplePath("zero2-w2"), folder / "out", "--format", "torch",
        "--dtype", "bf16", "--states", "exp_avg"});
    CHECK(answer.at("plan").at("format") == "torch");
    CHECK(namesIn(folder / "out")
        == std::set<std::string>{"exp_avg.bin", "pytorch_model.bin", "shardscope.json"});
    errorOf({"export", samplePath("zero2-w2"), folder / "x", "--format", "torch", "--dtype", "fp8_e5m2"}, 4,
        "unsupported");
    CHECK(!fs::exists(folder / "x"));
}

TEST_CASE("export as NumPy files, with an index that leads to them")
{
    const TemporaryFolder folder;
    const Json answer = answerOf({"export", samplePath("zero2-w2"), folder / "out", "--format", "npy",
        "--only", "norm.*", "--rename", "norm.bias=a/b", "--states", "exp_avg", "--dtype", "fp32"});
    CHECK(answer.at("plan").at("format") == "npy");
    CHECK(answer.at("result").at("verified") == true);
    CHECK(namesIn(folder / "out")
        == std::set<std::string>{"a%2Fb.npy", "exp_avg", "index.json", "norm.weight.npy", "shardscope.json"});
    CHECK(namesIn(folder / "out/exp_avg") == std::set<std::string>{"a%2Fb.npy", "norm.weight.npy"});
    const Json index = Json::parse(slurp(folder / "out/index.json"));
    CHECK(index.at("tensors").at("a/b")
        == Json({{"dtype", "float32"}, {"file", "a%2Fb.npy"}, {"shape", {16}}}));
    CHECK(index.at("states").at("exp_avg").at("norm.weight").at("file") == "exp_avg/norm.weight.npy");
    errorOf({"export", samplePath("zero2-w2"), folder / "x", "--format", "npy", "--shard-size", "1G"}, 2,
        "usage");
    CHECK(!fs::exists(folder / "x"));
}

TEST_CASE("export of a LoRA adapter, with its configuration file or --adapter-option")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string module = "base_model.model.q_proj.";
    const auto adapterOf = [&](const char* target, const Words& more = {}) {
        Words out{"export", run, folder / target, "--format", "adapter", "--only",
            "layers.0.attention.w?.weight", "--rename",
            "layers.0.attention.wq.weight=" + module + "lora_A.default.weight", "--rename",
            "layers.0.attention.wk.weight=" + module + "lora_B.default.weight"};
        out.insert(out.end(), more.begin(), more.end());
        return out;
    };
    const Json asked = errorOf(adapterOf("out"), 6, "refused");
    CHECK(asked.at("hint").get<std::string>().find("--adapter-option lora_alpha=16") != std::string::npos);
    const Json answer = answerOf(adapterOf("made", {"--adapter-option", "lora_alpha=16"}));
    CHECK(answer.at("plan").at("format") == "adapter");
    CHECK(answer.at("plan").at("tensors") == 2);
    CHECK(namesIn(folder / "made")
        == std::set<std::string>{"adapter_config.json", "adapter_model.safetensors", "shardscope.json"});
    CHECK(Json::parse(slurp(folder / "made/adapter_config.json")).at("lora_alpha") == 16);
    CHECK(headerOf(folder / "made/adapter_model.safetensors").contains(module + "lora_A.weight"));

    const std::string config = R"({"peft_type": "LORA", "r": 16, "lora_alpha": 3})";
    spill(run / "adapter_config.json", config);
    errorOf(adapterOf("x", {"--adapter-option", "lora_alpha=16"}), 2, "usage");
    errorOf(adapterOf("x", {"--shard-size", "1G"}), 2, "usage");
    answerOf(adapterOf("found"));
    CHECK(slurp(folder / "found/adapter_config.json") == config);
    errorOf({"export", run, folder / "x", "--format", "adapter"}, 6, "refused");
    errorOf(exportOf(run, folder / "x", {"--adapter-option", "lora_alpha=16"}), 2, "usage");

    fs::remove(run / "adapter_config.json");
    Words words = adapterOf("planned", {"--adapter-option", "lora_alpha=16", "-o", folder / "plan.json"});
    words.insert(words.begin(), "plan");
    answerOf(words);
    CHECK(schemaErrors(readSchema("saved-plan"), Json::parse(slurp(folder / "plan.json")), true).empty());
    answerOf({"run", folder / "plan.json"});
    CHECK(contentOf(folder / "planned") == contentOf(folder / "made"));
}

TEST_CASE("convert --to dcp writes one folder that torch.distributed.checkpoint loads")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const Json answer = answerOf({"convert", run, folder / "out", "--to", "dcp"});
    CHECK(answer.at("schema") == "shardscope/convert/1");
    CHECK(answer.at("plan").at("kind") == "dcp");
    CHECK(answer.at("plan").at("format") == "dcp");
    CHECK(answer.at("result").at("verified") == true);
    const auto names = namesIn(folder / "out");
    CHECK(names.contains(".metadata"));
    CHECK(names.contains("__0_0.distcp"));
    CHECK(names.contains("shardscope.json"));
    CHECK(names.size() == answer.at("plan").at("files").size() + 1);
    CHECK(namesIn(folder.path()) == std::set<std::string>{"out", "zero3-w4"});
    for (const char* option : {"--tag-out=x", "--optimizer-option=lr=1", "--no-latest"})
        errorOf({"convert", run, folder / "x", "--to", "dcp", option}, 2, "usage");
    errorOf({"export", run, folder / "x", "--format", "dcp"}, 2, "usage");
    CHECK(answerOf({"convert", run, folder / "out", "--to", "dcp"}).at("result").at("was_done") == true);
    fs::rename(folder / "out/__0_0.distcp", folder / "kept");
    errorOf({"convert", run, folder / "out", "--to", "dcp"}, 5, "target-exists");
    fs::rename(folder / "kept", folder / "out/__0_0.distcp");
    errorOf({"convert", run, run / "x", "--to", "dcp"}, 2, "usage");

    answerOf({"plan", "convert", run, folder / "planned", "--to", "dcp", "-o", folder / "plan.json"});
    CHECK(schemaErrors(readSchema("saved-plan"), Json::parse(slurp(folder / "plan.json")), true).empty());
    answerOf({"run", folder / "plan.json"});
    CHECK(contentOf(folder / "planned") == contentOf(folder / "out"));
}

namespace {

/// An export verifies until one byte of `file` changes: "FOLDER/PATH".
void checkThatDamageIsFound(const TemporaryFolder& folder, const std::string& file)
{
    CAPTURE(file);
    const fs::path form = folder / file.substr(0, file.find('/'));
    CHECK(answerOf({"verify", form}).at("ok") == true);
    CHECK(answerOf({"verify", form}).at("manifest") == true);
    const std::string bytes = slurp(folder / file);
    std::string changed = bytes;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    spill(folder / file, changed);
    CHECK(answerOf({"verify", form}, 1).at("problems")[0].at("where") == file.substr(file.find('/') + 1));
    spill(folder / file, bytes);
}

} // namespace

TEST_CASE("exports in every format open as weights and are verified by their manifest")
{
    const TemporaryFolder folder;
    const fs::path run = samplePath("zero2-w2");
    const auto exported = [&](const std::string& form, const Words& more) {
        Words words{"export", run, folder / form, "--format", form};
        words.insert(words.end(), more.begin(), more.end());
        answerOf(words);
    };
    exported("safetensors", {"--dtype", "bf16"});
    const Json shown = answerOf({"show", folder / "safetensors", "norm.weight"}).at("values");
    exported("torch", {"--dtype", "bf16", "--shard-size", "3000"});
    exported("npy", {"--dtype", "bf16", "--states", "exp_avg"});
    exported("adapter",
        {"--adapter-option", "lora_alpha=1", "--only", "layers.0.attention.w?.weight", "--rename",
            "layers.0.attention.wq.weight=base_model.model.q.lora_A.default.weight"});
    for (const std::string form : {"torch", "npy", "adapter"}) {
        CAPTURE(form);
        const Json answer = answerOf({"inspect", folder / form});
        CHECK(answer.at("kind") == "weights");
        CHECK(answer.at("supported") == true);
        if (form != "adapter")
            CHECK(answerOf({"show", folder / form, "norm.weight"}).at("values") == shown);
    }
    // A single file, and a file that is missing from the index.
    const std::set<std::string> names = namesIn(folder / "torch");
    const std::string shard = *names.lower_bound("pytorch_model-00002-of-");
    answerOf({"params", folder / "torch" / shard});
    CHECK(answerOf({"diff", folder / "torch", folder / "safetensors"}).at("equal") == true);
    CHECK(answerOf({"diff", folder / "npy", folder / "safetensors"}).at("equal") == true);
    answerOf({"export", folder / "torch", folder / "again", "--format", "safetensors"});
    CHECK(slurp(folder / "again/model.safetensors") == slurp(folder / "safetensors/model.safetensors"));

    for (const std::string& file : std::vector<std::string>{"torch/" + shard, "npy/norm.weight.npy",
             "npy/exp_avg/norm.weight.npy", "adapter/adapter_config.json"})
        checkThatDamageIsFound(folder, file);
    std::string manifest = slurp(folder / "npy/shardscope.json");
    manifest.replace(manifest.find("norm.bias.npy"), 13, "../m.bias.npy");
    spill(folder / "npy/shardscope.json", manifest);
    answerOf({"verify", folder / "npy"}, 1);
}

TEST_CASE("an exported distributed checkpoint has the training state and is verified")
{
    const TemporaryFolder folder;
    const fs::path run = samplePath("zero2-w2");
    answerOf({"convert", run, folder / "dcp", "--to", "dcp"});
    CHECK(answerOf({"inspect", folder / "dcp"}).at("kind") == "dcp");
    CHECK(answerOf({"params", folder / "dcp"}).at("parameters").size() == 26);
    CHECK(answerOf({"show", folder / "dcp", "norm.weight#exp_avg"}).at("values")
        == answerOf({"show", run, "norm.weight#exp_avg"}).at("values"));
    answerOf({"stats", folder / "dcp"});
    answerOf({"layout", folder / "dcp"});
    answerOf({"files", folder / "dcp"});
    CHECK(answerOf({"fingerprint", folder / "dcp"}).at("fingerprint")
        == answerOf({"fingerprint", run}).at("fingerprint"));
    errorOf({"fingerprint", folder / "dcp", "--partial"}, 4, "unsupported");
    CHECK(answerOf({"diff", run, folder / "dcp"}).at("verdict") == "same-training-state");
    CHECK(answerOf({"verify", folder / "dcp", "--against", run}).at("ok") == true);
    const Json inspected = answerOf({"inspect", folder / "dcp"});
    CHECK(inspected.at("step") == answerOf({"inspect", run}).at("step"));
    CHECK(inspected.at("param_groups")[0].at("options").contains("lr"));
    answerOf({"reshard", folder / "dcp", folder / "native", "--world-size", "3"});
    CHECK(answerOf({"verify", folder / "native", "--against", run}).at("ok") == true);
    answerOf({"convert", folder / "dcp", folder / "universal", "--to", "universal"});
    CHECK(answerOf({"diff", run, folder / "universal"}).at("equal") == true);
    answerOf({"convert", folder / "dcp", folder / "dcp-again", "--to", "dcp"});
    CHECK(answerOf({"fingerprint", folder / "dcp-again"}).at("fingerprint")
        == answerOf({"fingerprint", run}).at("fingerprint"));
    for (const std::string file : {"dcp/__0_0.distcp", "dcp/__0_7.distcp"})
        checkThatDamageIsFound(folder, file);
    fs::remove(folder / "dcp/shardscope.json");
    const Json checked = answerOf({"verify", folder / "dcp"});
    CHECK(checked.at("ok") == true);
    CHECK(checked.at("manifest") == false);
    CHECK(checked.at("fingerprint") == answerOf({"fingerprint", run}).at("fingerprint"));
    fs::path largest = folder / "dcp/__0_7.distcp"; // its middle holds elements
    for (const auto& entry : fs::directory_iterator(folder / "dcp")) {
        if (entry.path().filename() != "__0_0.distcp" && entry.path().extension() == ".distcp"
            && entry.file_size() > fs::file_size(largest))
            largest = entry.path();
    }
    const std::string tensor = slurp(largest);
    std::string flipped = tensor;
    flipped[tensor.size() / 2] = static_cast<char>(flipped[tensor.size() / 2] ^ 1);
    spill(largest, flipped);
    CHECK(answerOf({"verify", folder / "dcp"}, 1).at("problems")[0].at("code") == "record-corrupt");
    errorOf({"fingerprint", folder / "dcp"}, 6, "refused");
    spill(largest, tensor + "x"); // bytes after an archive belong to nothing
    CHECK(answerOf({"verify", folder / "dcp"}).at("ok") == true);
}

TEST_CASE("a dry run shows the plan, and refuses what the run would refuse")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const Json dry = answerOf(exportOf(run, folder / "out", {"--dry-run", "--shard-size", "2000"}));
    CHECK(!fs::exists(folder / "out"));
    CHECK(!dry.contains("result"));
    CHECK(dry.at("plan").at("files").size() > 3);
    fs::create_directory(folder / "out"); // may exist if it is empty
    const Json done = answerOf(exportOf(run, folder / "out/", {"--shard-size", "2000"}));
    CHECK(done.at("plan").at("files") == dry.at("plan").at("files"));
    errorOf(exportOf(run, folder / "out"), 5, "target-exists");
    errorOf(exportOf(run, folder / "out", {"--dry-run"}), 5, "target-exists");
    answerOf(exportOf(run, folder / "out", {"--force"}));
    CHECK(namesIn(folder / "out") == std::set<std::string>{"model.safetensors", "shardscope.json"});

    for (const fs::path& inside : {run, run / "export", run / "global_step5/x", folder.path()}) {
        CAPTURE(inside.string());
        errorOf(exportOf(run, inside, {"--force"}), 2, "usage");
        errorOf(exportOf(run, inside, {"--force", "--dry-run"}), 2, "usage");
    }
    errorOf(exportOf(run, "/"), 2, "usage");
    CHECK(namesIn(folder.path()) == std::set<std::string>{"out", "zero3-w4"});
}

TEST_CASE("DST may be a bare name, or a link to an empty folder")
{
    const TemporaryFolder folder;
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    const Json plain = answerOf(exportOf(samplePath("zero1-w2"), "plain"));
    fs::current_path(before);
    CHECK(plain.at("destination") == "plain");
    CHECK(fs::exists(folder / "plain/model.safetensors"));
    fs::create_directory(folder / "there");
    fs::create_directory_symlink(folder / "there", folder / "link");
    answerOf(exportOf(samplePath("zero1-w2"), folder / "link"));
    CHECK(fs::exists(folder / "there/model.safetensors"));
    CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("options without effect are reported")
{
    const TemporaryFolder folder;
    const fs::path run = samplePath("zero2-w2");
    const auto wrong = [&](const Words& more) { errorOf(exportOf(run, folder / "out", more), 2, "usage"); };
    wrong({"--only", "nothing"});
    wrong({"--strip-prefix", "module."});
    wrong({"--rename", "norm"});
    wrong({"--rename", "=x"});
    wrong({"--rename", "nothing=x"});
    wrong({"--states", "momentum"});
    wrong({"--states", ""});
    wrong({"--dtype", "fp64"});
    wrong({"--shard-size", "0"});
    wrong({"--allow", "nothing"});
    errorOf({"export", run, folder / "out", "--format", "gguf"}, 2, "usage");
    CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("a damaged checkpoint is refused, and a folder without a model is reported")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(run / "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    errorOf(exportOf(run, folder / "out"), 6, "refused");
    errorOf(exportOf(folder / "nothing", folder / "out"), 3, "not-found");
    CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("slices without a record are refused, and merged with --patterns")
{
    const TemporaryFolder folder;
    const Json report = answerOf(exportOf(samplePath("slices-w4"), folder / "merged"));
    const Json header = headerOf(folder / "merged/model.safetensors");
    CHECK(header.at("layers.0.up_proj.weight").at("shape") == Json({48, 12}));
    CHECK(!header.contains("layers.0.up_proj.weight:tp0"));
    spill(folder / "patterns.json", "{}");
    errorOf(exportOf(samplePath("zero2-w2"), folder / "out", {"--patterns", folder / "patterns.json"}), 2,
        "usage");
}

TEST_CASE("a saved plan of an export runs later and for another folder")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path file = folder / "plan.json";
    Words words = exportOf(run, folder / "out",
        {"--dtype", "fp16", "--only", "norm.*", "--rename", "norm=ln", "--states", "exp_avg"});
    words.insert(words.begin(), "plan");
    words.insert(words.end(), {"-o", file});
    const Json planned = answerOf(words);
    CHECK(planned.at("plan").at("tensors") == 4);
    CHECK(!fs::exists(folder / "out"));
    const Json saved = Json::parse(slurp(file));
    CHECK(saved.at("verb") == "export");
    CHECK(schemaErrors(readSchema("saved-plan"), saved, true).empty());

    const Json done = answerOf({"run", file});
    CHECK(done.at("plan").at("id") == planned.at("plan").at("id"));
    CHECK(headerOf(folder / "out/model.safetensors").contains("ln.weight"));
    answerOf({"run", file, folder / "elsewhere"});
    CHECK(contentOf(folder / "elsewhere") == contentOf(folder / "out"));
    spill(run / "config.json", "{}"); // would be copied now
    errorOf({"run", file, folder / "third"}, 6, "source-changed");
}

TEST_CASE("an export without --format writes safetensors")
{
    const TemporaryFolder folder;
    const Json answer = answerOf({"export", samplePath("zero2-w2"), folder / "a"});
    answerOf({"export", samplePath("zero2-w2"), folder / "b", "--format", "safetensors"});
    CHECK(fs::exists(folder / "a/model.safetensors"));
    CHECK(contentOf(folder / "a") == contentOf(folder / "b"));
    answerOf({"plan", "export", samplePath("zero2-w2"), folder / "c", "-o", folder / "c.json"});
    answerOf({"run", folder / "c.json"});
    CHECK(contentOf(folder / "c") == contentOf(folder / "a"));
}
