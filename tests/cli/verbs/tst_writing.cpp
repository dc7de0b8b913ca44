// SPDX-License-Identifier: Apache-2.0
// Guarantees of the writing verbs for target, source and plan.
#include "core/io/crc32.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_CASE("reshard writes what its plan says, and verify agrees")
{
    const TemporaryFolder folder;
    for (const std::string& name : kSampleNames) {
        for (const std::string ranks : {"1", "3"}) {
            CAPTURE(name);
            CAPTURE(ranks);
            const fs::path target = folder / (name + "-" + ranks);
            const auto before = contentOf(samplePath(name));
            const Json answer = answerOf({"reshard", samplePath(name), target, "--world-size", ranks});
            CHECK(contentOf(samplePath(name)) == before);
            const Json& plan = answer.at("plan");
            const fs::path output = answer.at("result").at("output").get<std::string>();
            CHECK(output == target / plan.at("target").get<std::string>());
            CHECK(answer.at("result").at("verified") == true);
            uint64_t bytes = 0;
            for (const Json& file : plan.at("files")) {
                CHECK(fs::file_size(output / file.at("path").get<std::string>())
                    == file.at("bytes").get<uint64_t>());
                bytes += file.at("bytes").get<uint64_t>();
            }
            CHECK(bytes == plan.at("writes_bytes"));
            CHECK(slurp(target / "latest") == plan.at("target"));
            const Json verified = answerOf({"verify", target, "--against", samplePath(name)});
            CHECK(verified.at("manifest") == true);
            CHECK(verified.at("fingerprint") == answer.at("result").at("fingerprint"));
            CHECK(answerOf({"inspect", target}).at("parallel").at("dp") == std::stoi(ranks));
        }
    }
}

TEST_CASE("options of reshard do what they say")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4");
    const Json answer = answerOf({"reshard", source, folder / "a", "-w", "2", "--tag-out", "other",
        "--no-latest", "--sub-group-size", "100000", "--no-verify", "--jobs", "1", "--memory-limit", "64M"});
    CHECK(answer.at("plan").at("sub_group_size") == 100000);
    CHECK(answer.at("plan").at("memory_bytes") == 64 << 20);
    CHECK(answer.at("result").at("verified") == false);
    CHECK(fs::exists(folder / "a/other/shardscope.json"));
    CHECK(!fs::exists(folder / "a/latest"));
    answerOf({"reshard", source, folder / "b", "-w", "2", "--tag-out", "other", "--no-latest",
        "--sub-group-size", "100000", "--jobs", "4"});
    CHECK(contentOf(folder / "a") == contentOf(folder / "b")); // independent of --jobs and --no-verify

    errorOf(
        {"reshard", source, folder / "c", "-w", "2", "--stage", "0", "--stage0-form", "torch"}, 2, "usage");
    errorOf(
        {"reshard", source, folder / "c", "-w", "2", "--stage", "1", "--stage0-form", "fp16"}, 2, "usage");
    errorOf(
        {"reshard", source, folder / "c", "-w", "2", "--stage", "0", "--stage0-form", "zero"}, 2, "usage");
    errorOf(
        {"reshard", source, folder / "c", "-w", "2", "--stage", "0", "--sub-group-size", "10"}, 2, "usage");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--stage", "4"}, 2, "usage");
    errorOf(
        {"reshard", source, folder / "c", "-w", "2", "--stage", "2", "--sub-group-size", "10"}, 2, "usage");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--tp", "2"}, 4, "unsupported");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--pp", "2"}, 4, "unsupported");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--ep", "2"}, 4, "unsupported");
    errorOf({"reshard", source, folder / "c", "-w", "0"}, 2, "usage");
    errorOf({"reshard", source, folder / "c", "-w", "two"}, 2, "usage");
    errorOf({"reshard", source, folder / "c"}, 2, "usage");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--jobs", "0"}, 2, "usage");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--memory-limit", "lots"}, 2, "usage");
    errorOf({"reshard", source, folder / "c", "-w", "2", "--allow", "no-such-finding"}, 2, "usage");
    CHECK(!fs::exists(folder / "c"));
    CHECK(answerOf({"reshard", source, folder / "c", "-w", "2", "--stage", "3", "--tp", "1", "-n"})
              .contains("plan"));
}

TEST_CASE("the bytes are the same for all devices, and the answer names the device")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2");
    std::vector<std::string> devices{"auto", "cpu", "cpu:plain"};
    const fs::path modules = fs::path(programPath()).parent_path() / "../../lib/shardscope";
    if (fs::exists(modules / "shardscope_torch.so"))
        devices.emplace_back("cpu:torch");
    else
        errorOf({"reshard", source, folder / "none", "-w", "3", "--device", "cpu:torch"}, 4, "unsupported");
    for (const std::string& device : devices) {
        CAPTURE(device);
        // Stage 0 has 16-bit weights that are cast from the masters.
        const Json answer
            = answerOf({"reshard", source, folder / device, "-w", "3", "--stage", "0", "--device", device});
        const Json& compute = answer.at("result").at("compute");
        CHECK(compute.at("device") == "cpu");
        CHECK((compute.at("by") == "plain code") == (device != "cpu:torch"));
        CHECK(compute.at("notes").empty());
        CHECK(contentOf(folder / device) == contentOf(folder / "auto"));
        const std::string print = answer.at("result").at("fingerprint");
        const Json again = answerOf({"fingerprint", folder / device, "--device", device});
        CHECK(again.at("fingerprint") == print);
        CHECK(again.at("compute").at("by") == compute.at("by"));
        CHECK(answerOf({"verify", folder / device, "--device", device}).at("compute") == again.at("compute"));
        const Json diff = answerOf({"diff", source, folder / device, "--device", device});
        CHECK(diff.at("equal") == true);
        CHECK(diff.at("compute").at("by") == compute.at("by"));
    }
    errorOf({"stats", source, "--device", "cuda:900"}, 4, "unsupported");
    errorOf({"stats", source, "--device", "gpu"}, 2, "usage");
    errorOf({"stats", source, "--device", "cuda", "--device-memory", "1M"}, 2, "usage");
}

TEST_CASE("a dry run shows the whole plan and writes nothing")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2");
    const Json dry = answerOf({"reshard", source, folder / "out", "-w", "3", "--dry-run"});
    CHECK(!dry.contains("result"));
    CHECK(fs::is_empty(folder.path()));
    const Json real = answerOf({"reshard", source, folder / "out", "-w", "3"});
    CHECK(real.at("plan").at("files") == dry.at("plan").at("files"));
    CHECK(real.at("plan").at("id") == dry.at("plan").at("id"));
    // It also reports what would stop the run.
    errorOf({"reshard", source, folder / "out", "-w", "1", "--dry-run"}, 5, "target-exists");
    errorOf({"reshard", source, samplePath("zero2-w2") / "inside", "-w", "3", "--dry-run"}, 2, "usage");
}

TEST_CASE("an existing target is not replaced without --force")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2");
    answerOf({"reshard", source, folder / "out", "-w", "3"});
    answerOf({"reshard", source, folder / "out", "-w", "1", "--tag", "global_step3"});
    const auto before = contentOf(folder / "out");
    errorOf({"reshard", source, folder / "out", "-w", "5"}, 5, "target-exists");
    CHECK(contentOf(folder / "out") == before);
    answerOf({"reshard", source, folder / "out", "-w", "5", "--force"});
    CHECK(answerOf({"inspect", folder / "out"}).at("parallel").at("dp") == 5);
    CHECK(answerOf({"inspect", folder / "out", "--tag", "global_step3"}).at("parallel").at("dp") == 1);
}

TEST_CASE("the target must be outside the source's run folder")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero2-w2", folder);
    const auto before = contentOf(folder.path());
    errorOf({"reshard", source, source, "-w", "3"}, 2, "usage");
    errorOf({"reshard", source, source / "inside", "-w", "3"}, 2, "usage");
    errorOf({"reshard", source, folder.path(), "-w", "3"}, 2, "usage");
    CHECK(contentOf(folder.path()) == before);
}

TEST_CASE("a saved plan runs to the same bytes, and only on the source it was made for")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero3-w4", folder);
    const fs::path file = folder / "plan.json";
    const Json planned = answerOf({"plan", "reshard", source, folder / "out", "-w", "3", "-o", file});
    CHECK(planned.at("file") == file.string());
    CHECK(!fs::exists(folder / "out"));
    const Json saved = Json::parse(slurp(file));
    CHECK(schemaErrors(readSchema("saved-plan"), saved, true).empty());
    CHECK(saved.at("id") == planned.at("plan").at("id"));
    errorOf({"plan", "reshard", source, folder / "out", "-w", "3", "-o", file}, 5, "target-exists");

    const Json dry = answerOf({"run", file, "--dry-run"});
    CHECK(dry.at("plan").at("files") == planned.at("plan").at("files"));
    const Json ran = answerOf({"run", file});
    CHECK(ran.at("result").at("verified") == true);
    answerOf({"run", file, folder / "elsewhere"});
    answerOf({"reshard", source, folder / "direct", "-w", "3"});
    CHECK(contentOf(folder / "out") == contentOf(folder / "direct"));
    CHECK(contentOf(folder / "elsewhere") == contentOf(folder / "direct"));

    const fs::path touched = source / "global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    const std::string bytes = slurp(touched);
    fs::remove(touched);
    spill(touched, bytes);
    const Json error = errorOf({"run", file, folder / "late"}, 6, "source-changed");
    CHECK(error.at("message").get<std::string>().find("bf16_zero_pp_rank_1") != std::string::npos);
    CHECK(!fs::exists(folder / "late"));
}

TEST_CASE("run refuses a source whose content changed though its size and times were kept")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero3-w4", folder);
    const fs::path file = folder / "plan.json";
    answerOf({"plan", "reshard", source, folder / "out", "-w", "3", "-o", file});
    const auto replace = [](const fs::path& path, const std::string& bytes) {
        struct stat before {
        };
        REQUIRE(::stat(path.c_str(), &before) == 0);
        spill(path, bytes);
        const timespec times[2]{before.st_atim, before.st_mtim};
        REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    };
    const fs::path optim = source / "global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    const std::string bytes = slurp(optim);
    std::string flipped = bytes;
    std::string sound = bytes; // with the checksum of its other values
    const Json listed = answerOf({"files", source, "--records"});
    for (const Json& entry : listed.at("files")) {
        if (fs::path(entry.at("path").get<std::string>()).filename() != optim.filename())
            continue;
        for (const Json& record : entry.at("zip_records")) {
            if (record.at("used_by").empty() || sound != bytes)
                continue;
            const auto offset = record.at("offset").get<size_t>();
            const auto count = record.at("bytes").get<size_t>();
            flipped[offset] = static_cast<char>(flipped[offset] ^ 1);
            sound[offset] = flipped[offset];
            const auto crcOf = [&](const std::string& text) {
                const uint32_t crc
                    = io::crc32(0, {reinterpret_cast<const uint8_t*>(text.data()) + offset, count});
                std::string out;
                for (int shift = 0; shift < 32; shift += 8)
                    out += static_cast<char>((crc >> shift) & 255);
                return out;
            };
            const std::string before = crcOf(bytes);
            for (size_t at = 0; (at = sound.find(before, at)) != std::string::npos;)
                sound.replace(at, before.size(), crcOf(flipped));
        }
    }
    REQUIRE(sound != flipped);
    replace(optim, flipped);
    errorOf({"run", file}, 6, "refused");
    CHECK(!fs::exists(folder / "out/latest"));
    replace(optim, sound);
    const Json error = errorOf({"run", file}, 6, "source-changed");
    CHECK(error.at("message").get<std::string>().find(optim.filename().string()) != std::string::npos);
    CHECK(!fs::exists(folder / "out/latest"));
    replace(optim, bytes);
    answerOf({"run", file});
}

TEST_CASE("a saved plan with an empty destination, or with a byte 0 in it, is a usage error")
{
    const TemporaryFolder folder;
    const fs::path file = folder / "plan.json";
    answerOf({"plan", "reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "-o", file});
    Json saved = Json::parse(slurp(file));
    for (const std::string& destination : {std::string(), std::string("a\0b", 3), std::string("here")}) {
        saved["destination"] = destination;
        spill(file, saved.dump());
        const Json error = errorOf({"run", file}, 2, "usage");
        CHECK(error.at("message").get<std::string>().find("destination") != std::string::npos);
    }
}

TEST_CASE("a plan for stage 0 names the form and runs to it")
{
    const TemporaryFolder folder;
    const fs::path file = folder / "plan.json";
    const Json planned = answerOf({"plan", "reshard", samplePath("zero1-w2"), folder / "out", "-w", "3",
        "--stage", "0", "--stage0-form", "fp16", "-o", file});
    CHECK(planned.at("plan").at("files").size() == 1);
    CHECK(planned.at("plan").at("must_stay_equal").at("zero_optimization.stage") == "0");
    CHECK(planned.dump().find("FP16_Optimizer") != std::string::npos);
    Json saved = Json::parse(slurp(file));
    CHECK(schemaErrors(readSchema("saved-plan"), saved, true).empty());
    CHECK(saved.at("options").at("stage0_form") == "fp16");
    answerOf({"run", file});
    const Json inspected = answerOf({"inspect", folder / "out"});
    CHECK(inspected.at("kind") == "fp16");
    CHECK(inspected.at("zero_stage") == 0);
    CHECK(inspected.at("parallel").at("dp") == 3);
    saved["options"]["stage0_form"] = "fused";
    spill(file, saved.dump());
    errorOf({"run", file, folder / "late"}, 2, "usage");
}

TEST_CASE("a plan with --row-major writes rows, and layout shows both orders")
{
    const TemporaryFolder folder;
    const fs::path file = folder / "plan.json";
    answerOf({"plan", "reshard", samplePath("ds0192-zenflow-w2"), folder / "out", "-w", "3", "--row-major",
        "-o", file});
    const Json saved = Json::parse(slurp(file));
    CHECK(schemaErrors(readSchema("saved-plan"), saved, true).empty());
    CHECK(saved.at("options").at("row_major") == true);
    answerOf({"run", file});
    answerOf({"verify", folder / "out", "--against", samplePath("ds0192-zenflow-w2")});
    const std::string name = "layers.0.mlp.up.weight";
    const auto fragments = [&](const fs::path& path) {
        const Json answer = answerOf({"layout", path, "--param", name});
        CHECK(schemaErrors(readSchema("layout"), answer, true).empty());
        return answer.at("fragments");
    };
    const Json before = fragments(samplePath("ds0192-zenflow-w2"));
    const Json after = fragments(folder / "out");
    CHECK(before.at(0).at("column_major") == true);
    CHECK_FALSE(after.at(0).contains("column_major"));
    const auto shown = [&](const fs::path& path) {
        const Json answer = answerOf({"show", path, name + "#fp32[5:9]"});
        return answer.at("values");
    };
    CHECK(shown(samplePath("ds0192-zenflow-w2")) == shown(folder / "out"));
}

TEST_CASE("a file that is not a plan is refused")
{
    const TemporaryFolder folder;
    const fs::path file = folder / "plan.json";
    errorOf({"run", file}, 3, "not-found");
    for (const std::string text : {"", "[]", "{\"schema\": 3}", "{\"schema\": \"shardscope/inspect/1\"}",
             "{\"schema\": \"shardscope/saved-plan/1\", \"verb\": \"reshard\"}"}) {
        CAPTURE(text);
        spill(file, text);
        errorOf({"run", file}, 2, "usage");
    }
    spill(file, "{\"schema\": \"shardscope/saved-plan/9\"}");
    errorOf({"run", file}, 4, "unsupported");
}

TEST_CASE("an interrupted reshard says how to continue, and continuing gives the same bytes")
{
    const TemporaryFolder folder;
    const Words command{"reshard", samplePath("zero3-w4"), folder / "out", "--world-size", "2"};
    Words whole = command;
    whole[2] = folder / "uninterrupted";
    REQUIRE(runShardscope(whole).exitCode == 0);
    for (const int number : {SIGINT, SIGTERM}) {
        CAPTURE(number);
        Words words{programPath()};
        words.insert(words.end(), command.begin(), command.end());
        words.emplace_back("-v");
        // The plan does not fit into the full pipe, so the run waits between planning and writing.
        Process process(words, {.blockedOutput = true});
        REQUIRE(process.waitForError("running plan"));
        process.signal(number);
        REQUIRE(process.waitForError("stopping"));
        const ProcessResult result = process.wait();
        CHECK(result.exitCode == 130);
        CHECK(result.err.find("--restart") != std::string::npos);
        CHECK(result.err.find("same command") != std::string::npos);
        CHECK(!fs::exists(folder / "out/global_step5"));
        CHECK(!fs::exists(folder / "out/latest"));
    }
    CHECK(runShardscope(command).exitCode == 0);
    CHECK(contentOf(folder / "out") == contentOf(folder / "uninterrupted"));
}

TEST_CASE("an interrupted job continues after a chmod and a hard link of a source file")
{
    const TemporaryFolder folder;
    fs::copy(samplePath("zero3-w4"), folder / "run", fs::copy_options::recursive);
    const Words command{"reshard", folder / "run", folder / "out", "--world-size", "2"};
    // Its plan fits into the limit, its output does not.
    Words limited{"/bin/sh", "-c", "ulimit -f 12; exec \"$@\"", "sh", programPath()};
    limited.insert(limited.end(), command.begin(), command.end());
    REQUIRE(runProcess(limited).exitCode == 5);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "out"))
        REQUIRE(fs::exists(entry.path() / "plan"));

    const fs::path file = folder / "run/global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";
    fs::permissions(file, fs::perms::owner_read);
    fs::create_hard_link(file, folder / "another name");
    CHECK(runShardscope(command).exitCode == 0);
}

TEST_CASE("a signal that was ignored at the start stays ignored, as with nohup")
{
    const TemporaryFolder folder;
    // The shell ignores SIGHUP, and the program inherits that.
    Process process({"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", programPath(), "reshard",
                        samplePath("zero3-w4"), folder / "out", "--world-size", "2", "-v"},
        {.blockedOutput = true});
    REQUIRE(process.waitForError("running plan"));
    process.signal(SIGHUP);
    CHECK(process.wait().exitCode == 0);
    CHECK(fs::exists(folder / "out/latest"));
}

TEST_CASE("a limit on the size of files is an error that says so, not a silent end")
{
    const TemporaryFolder folder;
    const ProcessResult result = runProcess({"/bin/sh", "-c", "ulimit -f 1; exec \"$@\"", "sh", programPath(),
        "reshard", samplePath("zero3-w4"), folder / "out", "--world-size", "2"});
    CHECK(result.exitCode == 5);
    CHECK(result.err.find("File too large") != std::string::npos);
    CHECK(!fs::exists(folder / "out/latest"));
}

TEST_CASE("a tag cannot have the name of a file that is next to it")
{
    const TemporaryFolder folder;
    for (const std::string name : {"latest", "latest_universal", "zero_to_fp32.py"}) {
        CAPTURE(name);
        errorOf(
            {"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "--tag-out", name}, 2, "usage");
        errorOf({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "--tag-out", name,
                    "--no-latest", "--dry-run"},
            2, "usage");
    }
    CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("a signal after the complete answer does not change the exit status")
{
    for (int i = 0; i < 100; ++i) {
        Process process({shardscope::programPath(), "inspect", samplePath("zero1-w2"), "--json"});
        REQUIRE(process.waitForOutput("}\n"));
        process.signal(SIGINT);
        CHECK(process.wait().exitCode == 0);
    }
}

TEST_CASE("a report replaces only a file, and does not change files next to it")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("zero2-w2");
    fs::create_directories(folder / "report.html.partial");
    spill(folder / "report.html.partial/note", "x");
    runShardscope({"check", source, "--html", folder / "report.html"});
    CHECK(fs::is_regular_file(folder / "report.html"));
    CHECK(slurp(folder / "report.html.partial/note") == "x");
    spill(folder / "other", "x");
    fs::create_symlink(folder / "other", folder / "link.html");
    REQUIRE(::mkfifo((folder / "fifo.html").c_str(), 0600) == 0);
    for (const std::string name : {"link.html", "fifo.html", "report.html.partial"}) {
        CAPTURE(name);
        errorOf({"check", source, "--html", folder / name, "--force"}, 5, "target-exists");
    }
    CHECK(fs::is_symlink(folder / "link.html"));
    CHECK(fs::is_fifo(folder / "fifo.html"));
    CHECK(slurp(folder / "other") == "x");
}
