// SPDX-License-Identifier: Apache-2.0
// `skeleton` as a process: what it keeps, what it removes, and that it opens like the checkpoint.
#include "core/torchfile/torch_file.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Samples with names or groups that only values determine.
const Words kNeedValues{"ds0192-experts-w4", "ds0310-zero2-w2", "stage0-fp16"};

std::vector<std::string> allSamples()
{
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(samplePath("zero2-w2").parent_path())) {
        if (entry.is_directory())
            out.push_back(entry.path().filename());
    }
    std::sort(out.begin(), out.end());
    REQUIRE(out.size() > 30);
    return out;
}

/// Texts of `args`, as the pickle has them; a parameter has one of them in its name.
const std::string kNote = std::string("X\x07\0\0\0", 5) + "gr\xC3\xB6\xC3\x9F" + "e";
const std::string kModel = std::string("X\x04\0\0\0", 5) + "tiny";

/// Every record of the archive, unpacked.
std::map<std::string, std::string> unpacked(const fs::path& zip)
{
    JobContext job;
    const auto file = io::realFileSystem().openRead(zip);
    REQUIRE(file);
    const auto directory = ZipDirectory::read(**file, ReadMode::Tolerant, job);
    REQUIRE(directory);
    std::map<std::string, std::string> out;
    for (const ZipRecord& record : directory->records()) {
        auto text = readRecord(**file, record, uint64_t{1} << 30);
        REQUIRE(text);
        out.emplace(record.name, std::move(*text));
    }
    return out;
}

std::string allOf(const fs::path& zip)
{
    std::string out = slurp(zip);
    for (const auto& [name, text] : unpacked(zip))
        out += name + "\n" + text;
    return out;
}

/// An answer without the fields that differ for a skeleton: its path, and that it is a skeleton.
Json comparable(const Json& answer, const std::string& asked, const std::string& folder)
{
    std::string text = answer.dump();
    for (const std::string& path : {folder, asked}) {
        for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at))
            text.replace(at, path.size(), "HERE");
    }
    Json out = Json::parse(text);
    out.erase("skeleton");
    Json* at = out.contains("results") ? &out["results"][0] : &out;
    at->erase("seconds");
    if (at->contains("findings")) {
        Json& findings = (*at)["findings"];
        findings.erase(std::remove_if(findings.begin(), findings.end(),
                           [](const Json& finding) { return finding.at("code") == "skeleton"; }),
            findings.end());
    }
    if (out.contains("evidence")) { // the confidence in an order depends on values
        Json& evidence = out["evidence"];
        evidence.erase(std::remove_if(evidence.begin(), evidence.end(),
                           [](const Json& said) {
                               return said.get<std::string>().find("ZenFlow") != std::string::npos;
                           }),
            evidence.end());
    }
    return out;
}

std::string folderIn(const Json& answer)
{
    return answer.contains("results") ? answer["results"][0]["checkpoint"] : answer["checkpoint"];
}

void checkAnswersAlike(const std::string& source, const std::string& skeleton)
{
    for (const char* verb : {"inspect", "params", "layout", "files", "check"}) {
        CAPTURE(verb);
        const bool checks = verb == std::string("check");
        const Words more = checks ? Words{"--depth", "metadata"} : Words();
        const bool hasError = source.ends_with("ds0184-stage0-bf16"); // which has no optimizer
        const auto ask = [&](const std::string& path) {
            Words words{verb, path};
            words.insert(words.end(), more.begin(), more.end());
            return answerOf(words, checks && hasError ? 1 : 0);
        };
        const Json before = ask(source);
        const Json after = ask(skeleton);
        CHECK(comparable(before, source, folderIn(before)) == comparable(after, skeleton, folderIn(after)));
    }
}

} // namespace

TEST_CASE("every sample opens as a skeleton with the same answers")
{
    const TemporaryFolder folder;
    for (const std::string& name : allSamples()) {
        CAPTURE(name);
        const std::string source = samplePath(name);
        const std::string out = folder / (name + ".zip");
        const Json report = answerOf({"skeleton", source, out});
        CHECK(report.at("bytes_after") == fs::file_size(out));
        CHECK(report.at("bytes_after").get<uint64_t>() < report.at("bytes_before").get<uint64_t>());
        const bool needsValues = std::find(kNeedValues.begin(), kNeedValues.end(), name) != kNeedValues.end();
        if (needsValues) {
            const Json inspected = answerOf({"inspect", out});
            CHECK(inspected.at("supported") == false);
            CHECK(inspected.at("why_not").get<std::string>().find("skeleton") != std::string::npos);
            errorOf({"params", out}, 4, "unsupported");
            continue;
        }
        checkAnswersAlike(source, out);
    }
}

TEST_CASE("files in torch's legacy form open as a skeleton, too, with their steps")
{
    const TemporaryFolder folder;
    const std::string out = folder / "s.zip";
    const std::string source = sourceFolder() + "/tests/data/legacy/zero1-w2";
    answerOf({"skeleton", source, out});
    CHECK(allOf(out).find(kNote) == std::string::npos);
    checkAnswersAlike(source, out);
}

TEST_CASE("skeleton reports its content as text and as JSON")
{
    const TemporaryFolder folder;
    const std::string out = folder / "s.zip";
    const ProcessResult made = runShardscope({"skeleton", samplePath("zero2-w2"), out});
    CHECK(made.exitCode == 0);
    CHECK(made.out.find("redacted: args, consumed_samples, iteration") != std::string::npos);
    CHECK(answerOf({"inspect", out}).at("skeleton") == true);
    CHECK(answerOf({"inspect", samplePath("zero2-w2")}).at("skeleton") == false);
    const Json checked = answerOf({"check", out});
    const Json& findings = checked.at("results").at(0).at("findings");
    CHECK(std::any_of(findings.begin(), findings.end(), [](const Json& finding) {
        return finding.at("code") == "skeleton" && finding.at("severity") == "info";
    }));
    CHECK(checked.at("depth") == "auto");
    CHECK(checked.at("results").at(0).at("depth") == "metadata");
    CHECK(checked.at("results").at(0).at("not_read").at("what") == "values");
    CHECK(answerOf({"check", out, "--depth", "names"}).at("depth") == "names");
    CHECK(answerOf({"check", out, "--depth", "headers"}).at("depth") == "headers");
    const Json files = answerOf({"files", out, "--records"});
    CHECK(files.at("files").size() == answerOf({"files", samplePath("zero2-w2")}).at("files").size());
}

TEST_CASE("no part of a storage and no value of the client is in it")
{
    const TemporaryFolder folder;
    for (const char* name :
        {"zero2-w2", "zero3-w4", "zero2-universal-w2", "pipeline-w4", "stage0-bf16", "muon-w3"}) {
        CAPTURE(name);
        const fs::path out = folder / (std::string(name) + ".zip");
        answerOf({"skeleton", samplePath(name), out});
        const std::string all = allOf(out);
        CHECK(all.find(kNote) == std::string::npos);
        CHECK(all.find(kModel) == std::string::npos);
        CHECK(all.find("learning_rate") == std::string::npos); // a name inside it
        CHECK(all.find(samplePath(name).parent_path()) == std::string::npos);
        size_t storages = 0;
        for (const auto& entry : fs::recursive_directory_iterator(samplePath(name))) {
            if (!entry.is_regular_file() || entry.path().extension() != ".pt")
                continue;
            JobContext job;
            const auto file = TorchFile::open(io::realFileSystem(), entry.path(), ReadMode::Tolerant, job);
            REQUIRE(file);
            const std::string bytes = slurp(entry.path());
            for (const ZipRecord& record : (*file)->zip().records()) {
                if (!record.name.starts_with("data/") || record.bytes < 16)
                    continue;
                const std::string payload = bytes.substr(record.payloadOffset, 16);
                if (payload.find_first_not_of(payload.front()) == std::string::npos) // zeros are everywhere
                    continue;
                CHECK(all.find(payload) == std::string::npos);
                ++storages;
            }
        }
        CHECK(storages > 3);
    }
}

TEST_CASE("--keep keeps the values of a key")
{
    const TemporaryFolder folder;
    const std::string out = folder / "s.zip";
    const Json report
        = answerOf({"skeleton", samplePath("zero2-w2"), out, "--keep", "args", "--keep", "iteration"});
    CHECK(report.at("kept_keys") == Json{"args", "iteration"});
    CHECK(report.at("redacted_keys") == Json{"consumed_samples"});
    CHECK(allOf(out).find("gr\xC3\xB6\xC3\x9F"
                          "e")
        != std::string::npos);
    errorOf({"skeleton", samplePath("zero2-w2"), folder / "t.zip", "--keep", "arg"}, 2, "usage");
    CHECK(!fs::exists(folder / "t.zip"));
}

TEST_CASE("a plan can be made from a skeleton, and commands that need values refuse it")
{
    const TemporaryFolder folder;
    const std::string out = folder / "s.zip";
    const std::string name = "layers.0.attention.wo.weight";
    answerOf({"skeleton", samplePath("zero2-w2"), out});
    const Json plan = answerOf({"reshard", out, folder / "dst", "--world-size", "3", "--dry-run"});
    const Json real
        = answerOf({"reshard", samplePath("zero2-w2"), folder / "dst", "--world-size", "3", "--dry-run"});
    CHECK(plan.at("plan").at("files") == real.at("plan").at("files"));
    answerOf({"convert", out, folder / "dst", "--to", "universal", "--dry-run"});
    const std::vector<Words> refused{{"show", out, name}, {"stats", out},
        {"diff", out, samplePath("zero2-w2")}, {"diff", samplePath("zero2-w2"), out}, {"fingerprint", out},
        {"verify", out}, {"check", out, "--depth", "bytes"},
        {"reshard", out, folder / "dst", "--world-size", "3"},
        {"convert", out, folder / "dst", "--to", "universal"},
        {"export", out, folder / "dst", "--format", "safetensors"},
        {"repair", out, folder / "dst", "--fix", "all"},
        {"plan", "reshard", out, folder / "dst", "-w", "3", "-o", folder / "p.json"},
        {"show", out + "/run/global_step6", name}, {"ensure", out, "-w", "2"},
        {"skeleton", out, folder / "t.zip"}};
    for (const Words& words : refused) {
        CAPTURE(words.front());
        const Json error = errorOf(words, 4, "unsupported");
        CHECK(error.at("message").get<std::string>().find("skeleton") != std::string::npos);
    }
    CHECK(!fs::exists(folder / "dst"));
    CHECK(!fs::exists(folder / "p.json"));
}

TEST_CASE("a skeleton has no values with a limit on reading, either")
{
    const TemporaryFolder folder;
    const fs::path zip = folder / "run.zip";
    answerOf({"skeleton", samplePath("zero2-w2"), zip});
    for (const std::string verb : {"check", "stats", "verify"}) {
        CAPTURE(verb);
        const ProcessResult plain = runShardscope({"--json", verb, zip});
        const ProcessResult limited = runShardscope({"--json", verb, zip, "--bwlimit", "100M"});
        CHECK(limited.exitCode == plain.exitCode);
        Json answers[] = {Json::parse(plain.out), Json::parse(limited.out)};
        if (verb == "check") {
            for (Json& answer : answers)
                answer.at("results").at(0).erase("seconds");
        }
        answers[1].erase("next");
        answers[0].erase("next");
        CHECK(answers[0] == answers[1]);
    }
}

TEST_CASE("a named tag and a single file open as requested")
{
    const TemporaryFolder folder;
    const std::string tagged = folder / "tag.zip";
    answerOf({"skeleton", samplePath("zero2-w2"), tagged, "--tag", "global_step3"});
    const Json inspected = answerOf({"inspect", tagged});
    CHECK(inspected.at("tag") == "global_step3");
    CHECK(inspected.at("latest") == "global_step6");
    CHECK(inspected.at("tags") == Json{"global_step3", "global_step6"});

    const std::string one = folder / "ONE.ZIP";
    answerOf({"skeleton", samplePath("zero3-w4") / slurp(samplePath("zero3-w4") / "latest"), one});
    CHECK(answerOf({"inspect", one}).at("kind") == "zero3");
}

TEST_CASE("a skeleton shows the damage of its checkpoint")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path tag = run / "global_step6";
    fs::resize_file(tag / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", 9000);
    spill(tag / "notes.txt", "private notes");
    const std::string out = folder / "s.zip";
    answerOf({"skeleton", run, out});
    const std::string all = allOf(out);
    CHECK(all.find("private notes") == std::string::npos);
    CHECK(all.find("notes.txt") != std::string::npos);
    const Json before = answerOf({"check", run, "--depth", "metadata"}, 1);
    const Json after = answerOf({"check", out, "--depth", "metadata"}, 1);
    const auto codes = [](const Json& answer) {
        std::map<std::string, size_t> counts;
        for (const Json& finding : answer.at("results").at(0).at("findings"))
            ++counts[finding.at("code").get<std::string>()];
        counts.erase("skeleton");
        return counts;
    };
    CHECK(codes(before).contains("file-torn"));
    CHECK(codes(after).contains("file-torn"));
    const Json kept = Json::parse(unpacked(out).at("check.json"));
    CHECK(codes(kept) == codes(before));
    CHECK(kept.at("schema") == "shardscope/check/1");
    CHECK(all.find(folder.path()) == std::string::npos);

    fs::remove(tag / "mp_rank_00_model_states.pt");
    answerOf({"skeleton", run, out, "--force"});
    CHECK(codes(answerOf({"check", out}, 1)).contains("model-states-missing"));
    errorOf({"skeleton", run, out}, 5, "target-exists");
    errorOf({"skeleton", run, run / "s.zip"}, 2, "usage");
    errorOf({"skeleton", folder / "none", folder / "t.zip"}, 3, "not-found");
}

TEST_CASE("two runs give the same bytes, and the source stays as it was")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const auto before = contentOf(run);
    answerOf({"skeleton", run, folder / "a.zip"});
    answerOf({"skeleton", run, folder / "b.zip"});
    CHECK(slurp(folder / "a.zip") == slurp(folder / "b.zip"));
    CHECK(contentOf(run) == before);
}
