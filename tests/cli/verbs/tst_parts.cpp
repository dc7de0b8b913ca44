// SPDX-License-Identifier: Apache-2.0
// --part and --finish as processes, and the same work by processes that MPI connects.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"
#include "tests/support/swapped_checkpoint.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// A verb that writes, from SRC to DST.
struct Writing {
    const char* sample;
    Words verb; ///< with its options
    bool swapped = false; ///< the states of its optimizer in files of NVMe offload
};

const std::vector<Writing> kWriting{
    {"zero2-w2", {"reshard", "-w", "3"}},
    {"zero3-w4", {"reshard", "-w", "3", "--stage", "2"}},
    {"experts-w4", {"reshard", "-w", "2"}},
    {"pipeline-w4", {"reshard", "-w", "2"}},
    {"zero2-universal-w2", {"reshard", "-w", "3"}},
    {"zero3-w4", {"convert", "--to", "universal"}},
    {"zero2-w2", {"convert", "--to", "dcp"}},
    {"zero2-w2", {"export", "--format", "safetensors", "--dtype", "bf16"}},
    {"zero2-w2", {"repair", "--set", "global_steps=9"}},
    {"zero3-w4", {"reshard", "-w", "2"}, true},
};

fs::path sourceOf(const Writing& writing, const TemporaryFolder& folder)
{
    const fs::path run = copySample(writing.sample, folder);
    if (writing.swapped)
        swapOut(run / slurp(run / "latest"), {.subgroups = {0, 1, 2}});
    return run;
}

Words commandOf(const Writing& writing, const fs::path& source, const fs::path& destination)
{
    Words out{writing.verb.front(), source, destination, "--quiet"};
    out.insert(out.end(), writing.verb.begin() + 1, writing.verb.end());
    return out;
}

Words with(Words words, const Words& more)
{
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

void requireDone(const ProcessResult& result)
{
    REQUIRE_MESSAGE(result.exitCode == 0, result.out, result.err);
}

} // namespace

TEST_CASE("every verb that writes gives the same bytes in parts")
{
    for (const Writing& writing : kWriting) {
        CAPTURE(std::string(writing.sample));
        CAPTURE(writing.verb.front());
        const TemporaryFolder folder;
        const fs::path source = sourceOf(writing, folder);
        requireDone(runShardscope(commandOf(writing, source, folder / "whole")));
        const auto expected = contentOf(folder / "whole");
        const Words command = commandOf(writing, source, folder / "parts");
        for (const char* part : {"2/3", "0/3", "1/3"})
            requireDone(runShardscope(with(command, {"--part", part})));
        requireDone(runShardscope(with(command, {"--finish"})));
        CHECK(contentOf(folder / "parts") == expected);
    }
}

TEST_CASE("what others did to files between parts is never published, by any verb")
{
    for (size_t i = 0; i < kWriting.size(); ++i) {
        const Writing& writing = kWriting[i];
        CAPTURE(std::string(writing.sample));
        CAPTURE(writing.verb.front());
        const TemporaryFolder folder;
        const fs::path source = sourceOf(writing, folder);
        requireDone(runShardscope(commandOf(writing, source, folder / "whole")));
        Words command = commandOf(writing, source, folder / "parts");
        if (i % 2 == 1)
            command.emplace_back("--no-verify");
        for (const char* part : {"0/2", "1/2"})
            requireDone(runShardscope(with(command, {"--part", part})));
        std::vector<fs::path> written;
        for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
            const bool isOutput = entry.path().string().find("/files/") != std::string::npos;
            if (isOutput && entry.is_regular_file() && entry.file_size() > 0)
                written.push_back(entry.path());
        }
        REQUIRE_FALSE(written.empty());
        std::string bytes = slurp(written.front());
        bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 4);
        spill(written.front(), bytes);
        if (written.size() > 1)
            fs::remove(written.back());
        requireDone(runShardscope(with(command, {"--finish"})));
        CHECK(contentOf(folder / "parts") == contentOf(folder / "whole"));
    }
}

TEST_CASE("a part answers with what it wrote, and a missing one is named")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero2-w2", folder);
    const Words command{"reshard", source, folder / "out", "-w", "3"};
    errorOf(with(command, {"--finish"}), 6, "refused");
    const Json first = answerOf(with(command, {"--part", "1/2"})).at("part");
    CHECK(first.at("index") == 1);
    CHECK(first.at("count") == 2);
    CHECK(first.at("bytes_written") == first.at("bytes"));
    CHECK(first.at("verified") == true);
    CHECK(fs::exists(first.at("work_folder").get<std::string>()));
    const Json again = answerOf(with(command, {"--part", "1/2"})).at("part");
    CHECK(again.at("bytes_written") == 0);
    CHECK(again.at("bytes_reused") == first.at("bytes"));
    const Json missing = errorOf(with(command, {"--finish"}), 6, "refused");
    CHECK(missing.dump().find("part 0 of 2 is missing") != std::string::npos);
    CHECK(!fs::exists(folder / "out/latest"));
    answerOf(with(command, {"--part", "0/2"}));
    const Json result = answerOf(with(command, {"--finish"})).at("result");
    CHECK(result.at("verified") == true);
    CHECK(result.at("bytes_written") == 0);
    CHECK(answerOf(with(command, {"--part", "0/2"})).at("part").at("bytes_written") == 0);
    CHECK(answerOf(with(command, {"--finish"})).at("result").at("was_done") == true);

    for (const char* wrong : {"2/2", "1", "1/0", "-1/2", "1/2x", ""})
        CHECK(runShardscope(with(command, {"--part", wrong})).exitCode == 2);
    errorOf(with(command, {"--part", "0/2", "--finish"}), 2, "usage");
    errorOf(with(command, {"--part", "0/2", "--restart", "--force"}), 2, "usage");
    errorOf(with(command, {"--part", "0/2", "--sha256", "--force"}), 2, "usage");
    errorOf({"--mpi", "inspect", source}, 4, "unsupported");
}

TEST_CASE("without the module for its MPI, --mpi is refused, and the command without it is named")
{
    const TemporaryFolder folder;
    const ProcessResult result
        = runShardscope({"--mpi", "reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "--json"},
            {.environment = {{"SHARDSCOPE_MPI", "none"}}});
    CHECK(result.exitCode == 4);
    const Json error = Json::parse(result.out);
    CHECK(error.at("message").get<std::string>().find("shardscope_none.so") != std::string::npos);
    const std::string command = error.at("command");
    CHECK(command.find("reshard") != std::string::npos);
    CHECK(command.find("--mpi") == std::string::npos);
    CHECK(command.find("--finish") == std::string::npos);
}

TEST_CASE("a saved plan runs in parts")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero3-w4", folder);
    requireDone(runShardscope({"reshard", source, folder / "whole", "-w", "2", "--quiet"}));
    requireDone(
        runShardscope({"plan", "reshard", source, folder / "out", "-w", "2", "-o", folder / "plan.json"}));
    for (const char* part : {"0/2", "1/2"})
        answerOf({"run", folder / "plan.json", "--part", part});
    answerOf({"run", folder / "plan.json", "--finish"});
    CHECK(contentOf(folder / "out") == contentOf(folder / "whole"));
}

#ifdef SHARDSCOPE_TEST_LAUNCHERS

namespace {

/// The launchers that are installed, as words before the program.
std::vector<Words> launchers()
{
    std::vector<Words> out;
    for (const std::string& name : Words{SHARDSCOPE_TEST_LAUNCHERS})
        out.push_back(name.find("openmpi") != std::string::npos
                ? Words{name, "--allow-run-as-root", "--oversubscribe"}
                : Words{name});
    return out;
}

ProcessOptions mpiOptions()
{
    // MPI libraries leave memory to the end of the process.
    return {.environment = {{"ASAN_OPTIONS", "detect_leaks=0"},
                {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}, {"OMPI_MCA_plm_rsh_agent", "true"}}};
}

ProcessResult runTogether(const Words& launcher, int count, const Words& words)
{
    Words all = with(launcher, {"-n", std::to_string(count), programPath()});
    return runProcess(with(all, words), mpiOptions());
}

} // namespace

TEST_CASE("every verb that writes gives the same bytes by processes that MPI connects")
{
    for (const Words& launcher : launchers()) {
        CAPTURE(launcher.front());
        int count = 1; // each verb with another number
        for (const Writing& writing : kWriting) {
            CAPTURE(std::string(writing.sample));
            CAPTURE(writing.verb.front());
            CAPTURE(count);
            const TemporaryFolder folder;
            const fs::path source = sourceOf(writing, folder);
            requireDone(runShardscope(commandOf(writing, source, folder / "whole")));
            Words command = commandOf(writing, source, folder / "out");
            command.insert(command.begin(), "--mpi");
            requireDone(runTogether(launcher, count, command));
            CHECK(contentOf(folder / "out") == contentOf(folder / "whole"));
            count = count % 4 + 1;
        }
    }
}

TEST_CASE("verbs that read every byte answer the same by processes that MPI connects")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero3-w4", folder);
    requireDone(runShardscope({"reshard", source, folder / "other", "-w", "3", "--quiet"}));
    const std::vector<Words> commands{{"fingerprint", source, "--per-parameter", "--json"},
        {"verify", folder / "other", "--against", source, "--json"},
        {"check", source, folder / "other", "--depth", "bytes", "--json"},
        {"diff", source, folder / "other", "--json"}, {"diff", source, samplePath("zero2-w2"), "--json"},
        {"stats", source, "--json"}, {"stats", source, "--exact", "--bars", "7", "--json"}};
    // But for times and devices.
    const auto facts = [](const std::string& text) {
        Json answer = Json::parse(text);
        for (const char* key : {"compute", "seconds"})
            answer.erase(key);
        if (answer.contains("results")) {
            for (Json& result : answer["results"])
                result.erase("seconds");
        }
        return answer;
    };
    for (const Words& launcher : launchers()) {
        CAPTURE(launcher.front());
        for (const Words& command : commands) {
            CAPTURE(command.front());
            const ProcessResult one = runShardscope(command);
            const Json alone = facts(one.out);
            Words shared = command;
            shared.insert(shared.begin(), "--mpi");
            const ProcessResult result = runTogether(launcher, 3, shared);
            REQUIRE_MESSAGE(result.exitCode == one.exitCode, result.err);
            CHECK((facts(result.out) == alone));
        }
    }
    // A damaged value is found by whichever process reads it, and ends the command of all.
    for (const auto& entry : fs::directory_iterator(source / slurp(source / "latest"))) {
        if (entry.path().filename().string().find("optim_states") == std::string::npos)
            continue;
        const std::string before = slurp(entry.path());
        std::string bytes = before;
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        spill(entry.path(), bytes);
        const ProcessResult verified
            = runTogether(launchers().front(), 3, {"--mpi", "verify", source, "--json"});
        CHECK(verified.exitCode == 1);
        const ProcessResult refused
            = runTogether(launchers().front(), 3, {"--mpi", "fingerprint", source, "--json"});
        CHECK(refused.exitCode == 6);
        spill(entry.path(), before);
    }
}

TEST_CASE("one process of an MPI job answers, and errors end the job")
{
    const TemporaryFolder folder;
    const fs::path source = copySample("zero2-w2", folder);
    for (const Words& launcher : launchers()) {
        CAPTURE(launcher.front());
        const ProcessResult done = runTogether(launcher, 3,
            {"--mpi", "reshard", source, folder / fs::path(launcher.front()).filename(), "-w", "3",
                "--json"});
        REQUIRE_MESSAGE(done.exitCode == 0, done.err);
        const Json answer = Json::parse(done.out);
        CHECK(answer.at("result").at("verified") == true);
        const ProcessResult wrong
            = runTogether(launcher, 2, {"--mpi", "reshard", folder / "absent", folder / "x", "-w", "3"});
        CHECK(wrong.exitCode == 3);
        const size_t first = wrong.err.find("error: ");
        CHECK(first != std::string::npos);
        CHECK(wrong.err.find("error: ", first + 1) == std::string::npos);
        // Without --mpi each process would do all of it.
        const ProcessResult copies = runTogether(launcher, 2, {"verify", source});
        CHECK(copies.exitCode == 2);
        CHECK(copies.err.find("this is process 1 of 2") != std::string::npos);
        // A script on every rank may use the program.
        Words script = with(launcher, {"-n", "2", "sh", "-c"});
        script.push_back(programPath() + " inspect " + source.string() + " --json > /dev/null; exit $?");
        CHECK(runProcess(script, mpiOptions()).exitCode == 0);
    }
    // No program links an MPI library.
    const ProcessResult libraries = runProcess({"/usr/bin/ldd", programPath()});
    CHECK(libraries.out.find("libmpi") == std::string::npos);
}

#endif
