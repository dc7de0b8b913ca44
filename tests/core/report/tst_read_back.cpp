// SPDX-License-Identifier: Apache-2.0
// Answers of another host's program, read back by what describes them.
#include "core/base/finding_codes.h"
#include "core/report/answers/check_report.h"
#include "core/report/answers/fingerprint_report.h"
#include "core/report/answers/stats_report.h"
#include "core/report/answers/verify_report.h"
#include "core/report/jobs/jobs_report.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

template <class Write>
std::string textOf(const Write& write)
{
    std::string out;
    write([&](std::string_view text) { out += text; });
    return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string jobsText()
{
    jobs::JobEntry running;
    running.record.id = "5f2c81d0";
    running.record.words = {"reshard", "/a b", "/out\xff"};
    running.record.target = "/out\xff";
    running.record.machine = "node7";
    running.record.started = 1'700'000'000'000;
    running.state = jobs::JobState::Running;
    running.progress
        = R"({"phase":"writing","bytes_done":3,"bytes_total":9,"bytes_per_second":2,"eta_seconds":3.0})";
    jobs::JobEntry ended = running;
    ended.record.id = "00000001";
    ended.record.target.clear();
    ended.state = jobs::JobState::Ended;
    ended.end = {.exit = 5, .ended = 1'700'000'009'000};
    ended.progress.clear();
    return textOf([&](const TextSink& sink) { writeJobsJson(sink, {running, ended}); });
}

} // namespace

TEST_CASE("jobs are read back")
{
    const std::string text = jobsText();
    const auto found = parseJobs(text);
    REQUIRE(found);
    REQUIRE(found->size() == 2);
    const DetachedJob& running = found->front();
    CHECK(running.id == "5f2c81d0");
    CHECK(running.state == jobs::JobState::Running);
    CHECK(running.command == "shardscope reshard '/a b' '/out\xff'");
    CHECK(running.target == "/out\xff");
    CHECK(running.started == "2023-11-14T22:13:20Z");
    CHECK(running.ended.empty());
    CHECK(!running.exit);
    REQUIRE(running.progress);
    CHECK(running.progress->bytesDone == 3);
    CHECK(running.progress->etaSeconds == 3);
    const DetachedJob& ended = found->back();
    CHECK(ended.state == jobs::JobState::Ended);
    CHECK(ended.target.empty());
    CHECK(ended.exit == 5U);
    CHECK(!ended.progress);
    CHECK(!parseJob(text));
}

TEST_CASE("jobs that are none are refused")
{
    const std::string text = jobsText();
    for (const auto& [from, to] : {std::pair{"5f2c81d0", "../../etc"}, std::pair{"running", "unheard-of"},
             std::pair{"\"bytes_done\"", "\"other\""}, std::pair{"\"jobs\"", "\"others\""}}) {
        CAPTURE(to);
        const auto found = parseJobs(replaced(text, from, to));
        REQUIRE(!found);
        CHECK(found.error().code == ErrorCode::Hostile);
    }
    CHECK(!parseJobs(""));
    CHECK(!parseJobs("[]"));
}

TEST_CASE("a progress beyond its bounds is brought back into them")
{
    const std::string text
        = R"({"phase":"p","bytes_done":12,"bytes_total":9,"bytes_per_second":2,"eta_seconds":1e300})";
    const auto read = parseProgress(text);
    REQUIRE(read);
    CHECK(read->bytesDone == 9);
    CHECK(read->etaSeconds == 1e9);
    for (const char* none : {"-5.0", "\"nan\"", "null"}) {
        CAPTURE(none);
        const auto other = parseProgress(replaced(text, "1e300", none));
        REQUIRE(other);
        CHECK(other->etaSeconds == -1);
    }
    const auto unknown = parseProgress(replaced(text, "\"bytes_total\":9", "\"bytes_total\":0"));
    REQUIRE(unknown);
    CHECK(unknown->bytesDone == 12);
    CHECK(!parseProgress(replaced(text, "\"p\"", "\"" + std::string(65'537, 'p') + "\"")));
}

TEST_CASE("long texts of jobs are refused, and an own command is cut before it is one")
{
    jobs::JobEntry job;
    job.record.id = "5f2c81d0";
    job.record.words = {"check", "/data"};
    job.record.target = "/target";
    job.record.machine = "node7";
    job.progress
        = R"({"phase":"writing","bytes_done":3,"bytes_total":9,"bytes_per_second":2,"eta_seconds":3.0})";
    const auto textWith = [&] { return textOf([&](const TextSink& sink) { writeJobsJson(sink, {job}); }); };
    const std::string text = textWith();
    for (const char* part : {"/data", "/target", "node7", "1970-01-01T00:00:00Z", "writing"}) {
        CAPTURE(part);
        CHECK(parseJobs(replaced(text, part, part + std::string(100, 'x'))));
        const auto found = parseJobs(replaced(text, part, part + std::string(65'537, 'x')));
        REQUIRE(!found);
        CHECK(found.error().code == ErrorCode::Hostile);
    }
    job.record.words = {"check", std::string(40'000, 'a'), std::string(40'000, 'b'), "c"};
    const auto own = parseJob(textWith());
    REQUIRE(own);
    CHECK(own->command == "shardscope check " + std::string(40'000, 'a') + " ...");
}

TEST_CASE("a check is read back")
{
    CheckResult result;
    result.path = "/run";
    result.folder = "/run/global_step5";
    result.tag = "global_step5";
    result.depth = CheckDepth::Bytes;
    result.bytesNotRead = 7;
    result.target.worldSize = 8;
    result.tiers[3] = {true, 1.5};
    Finding finding{code::kRecordCorrupt, Severity::Error, "the CRC is wrong", RecordPlace{"a.pt", "data/1"},
        {"one", "two"}};
    finding.parts = {Place("a.pt"), Place(ParamAddress{"w", "fp32", {}})};
    result.findings.push_back(
        {finding, &diagnosisOf(finding.code), "repair /run DST --fix record-corrupt", CheckDepth::Bytes});
    const std::string text
        = textOf([&](const TextSink& sink) { writeCheckJson(sink, {result}, CheckDepth::Bytes); });
    const auto found = parseCheck(text);
    REQUIRE(found);
    CHECK(found->folder == result.folder);
    CHECK(found->depth == CheckDepth::Bytes);
    CHECK(found->bytesNotRead == 7);
    CHECK(found->target.worldSize == 8U);
    CHECK(found->tiers[3].done);
    CHECK(!found->tiers[0].done);
    REQUIRE(found->findings.size() == 1);
    const DoctorFinding& made = found->findings.front();
    CHECK(made.finding.code == finding.code);
    CHECK(made.finding.severity == finding.severity);
    CHECK(made.finding.message == finding.message);
    CHECK(made.finding.where.text() == finding.where.text());
    CHECK(made.finding.evidence == finding.evidence);
    CHECK(made.finding.parts == finding.parts);
    CHECK(made.diagnosis == &diagnosisOf(finding.code));
    CHECK(made.command == "repair /run DST --fix record-corrupt");

    CHECK(!parseCheck(replaced(text, "record-corrupt", "no-such-code")));
    CHECK(!parseCheck(replaced(text, "\"findings\"", "\"found\"")));
    CHECK(!parseCheck("{}"));
    CHECK(!parseCheck(textOf([&](const TextSink& sink) { writeCheckJson(sink, {result, result}, {}); })));
}

TEST_CASE("what a verification says must fit together")
{
    VerifyReport report;
    report.fingerprint = "0123456789abcdef0123456789abcdef";
    report.problems.push_back({code::kRecordCorrupt, Severity::Error, "the CRC is wrong", Place("a.pt"), {}});
    const CheckpointPtr checkpoint = test::makeSyntheticCheckpoint({});
    const auto textWith = [&](const VerifyReport& made) {
        return textOf([&](const TextSink& sink) {
            writeVerifyJson(sink, {*checkpoint, "/run", {}, nullptr, nullptr}, made, {});
        });
    };
    const std::string text = textWith(report);
    const auto read = parseVerify(text);
    REQUIRE(read);
    CHECK(read->fingerprint == report.fingerprint);
    CHECK(read->problems.size() == 1);
    for (const char* other : {"", "0123", "0123456789ABCDEF0123456789abcdef", "<b>"}) {
        CAPTURE(other);
        const auto found = parseVerify(replaced(text, report.fingerprint, other));
        CHECK(found.has_value() == std::string_view(other).empty());
    }
    report.problems.clear();
    CHECK(!parseVerify(textWith(report)));
    report.ok = true;
    report.fingerprint.clear();
    CHECK(parseVerify(textWith(report)));
}

TEST_CASE("statistics and fingerprints that are none are refused")
{
    CHECK(!parseStats("{}"));
    CHECK(!parseStats(R"({"tensors":[{"name":"w"}]})"));
    CHECK(!parseFingerprint("{}"));
    const std::string digest = "0123456789abcdef0123456789abcdef";
    const auto textWith = [&](const std::string& whole, int version) {
        return R"({"complete":true,"joined":false,"fingerprint":)" + whole + R"(,"fingerprint_version":)"
            + std::to_string(version) + R"(,"states":{"fp32":")" + digest + R"("},"scalars":[]})";
    };
    const auto found = parseFingerprint(textWith("\"" + digest + "\"", static_cast<int>(kDigestVersion)));
    REQUIRE(found);
    CHECK(found->whole.text() == digest);
    REQUIRE(found->states.size() == 1);
    CHECK(found->states.front().state == "fp32");
    CHECK(!parseFingerprint(textWith("null", static_cast<int>(kDigestVersion))));
    CHECK(!parseFingerprint(textWith("\"" + digest + "\"", 1)));
}
