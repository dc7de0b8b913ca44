// SPDX-License-Identifier: Apache-2.0
// Many files opened together, compared with each opened by itself.
#include "core/torchfile/torch_files.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/waiting_file_system.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace shardscope;
using namespace shardscope::test;

namespace {

const io::Path kData = io::Path(sourceFolder()) / "tests/data";

std::vector<TorchFileRequest> allFiles()
{
    std::vector<TorchFileRequest> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kData)) {
        if (entry.is_regular_file() && entry.path().extension() == ".pt")
            out.push_back({entry.path()});
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    out.push_back({kData / "missing.pt"});
    out.push_back({kData});
    out.push_back({kData / "samples/README.md"});
    return out;
}

std::vector<Result<std::shared_ptr<const TorchFile>>> openAll(
    io::FileSystem& files, const std::vector<TorchFileRequest>& requests)
{
    JobContext job;
    SharedFiles shared;
    auto opened = openTorchFiles(files, requests, job, shared);
    REQUIRE(opened);
    REQUIRE(opened->size() == requests.size());
    return std::move(*opened);
}

void checkSame(const TorchFile& together, const TorchFile& alone)
{
    REQUIRE(together.zip().recordCount() == alone.zip().recordCount());
    CHECK(together.zip().prefix() == alone.zip().prefix());
    CHECK(together.zip().alignment() == alone.zip().alignment());
    CHECK(together.identity() == alone.identity());
    CHECK(together.pickle().nodeCount() == alone.pickle().nodeCount());
    for (uint32_t i = 0; i < alone.zip().recordCount(); ++i) {
        const ZipRecord& a = together.zip().record(i);
        const ZipRecord& b = alone.zip().record(i);
        CHECK(a.name == b.name);
        CHECK(a.payloadOffset == b.payloadOffset);
        CHECK(a.bytes == b.bytes);
        CHECK(a.crc32 == b.crc32);
    }
    REQUIRE(together.findings().size() == alone.findings().size());
    for (size_t i = 0; i < alone.findings().size(); ++i)
        CHECK(together.findings()[i].message == alone.findings()[i].message);
}

} // namespace

TEST_CASE("files opened together are the same as opened one by one, and so are their errors")
{
    const std::vector<TorchFileRequest> requests = allFiles();
    REQUIRE(requests.size() > 200);
    const auto opened = openAll(io::realFileSystem(), requests);
    size_t failed = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
        CAPTURE(requests[i].path.string());
        JobContext job;
        const auto alone = TorchFile::open(io::realFileSystem(), requests[i].path, ReadMode::Tolerant, job);
        REQUIRE(opened[i].has_value() == alone.has_value());
        if (alone) {
            checkSame(**opened[i], **alone);
            continue;
        }
        ++failed;
        CHECK(opened[i].error().code == alone.error().code);
        CHECK(opened[i].error().message == alone.error().message);
        CHECK(opened[i].error().path == alone.error().path);
    }
    CHECK(failed >= 3);
}

TEST_CASE("the number of rounds does not grow with the number of files")
{
    std::vector<TorchFileRequest> requests;
    for (const char* sample : {"zero3-w4", "zero2-w2", "experts-w4"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(kData / "samples" / sample)) {
            if (entry.path().extension() == ".pt")
                requests.push_back({entry.path()});
        }
    }
    const auto roundsOf = [](const std::vector<TorchFileRequest>& some) {
        WaitingFileSystem files(std::chrono::microseconds(0));
        for (const auto& one : openAll(files, some))
            REQUIRE(one);
        return files.rounds();
    };
    std::vector<TorchFileRequest> many;
    for (int i = 0; i < 20; ++i)
        many.insert(many.end(), requests.begin(), requests.end());
    CHECK(roundsOf(many) <= 6);
    CHECK(roundsOf(requests) <= 6);
}

TEST_CASE("a file that is replaced while it is read is found")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "file.pt";
    std::filesystem::copy_file(kData / "torch/tiny.pt", path);

    /// Changes the file when the others are asked whether they changed.
    class Changing final : public io::ForwardingFileSystem
    {
    public:
        explicit Changing(io::Path path)
            : ForwardingFileSystem(io::realFileSystem())
            , m_path(std::move(path))
        {
        }
        std::vector<Status> checkAllUnchanged(std::span<const io::ReadFile* const> files) override
        {
            std::ofstream(m_path, std::ios::app) << "more";
            return ForwardingFileSystem::checkAllUnchanged(files);
        }

    private:
        io::Path m_path;
    };
    Changing files(path);
    const auto opened = openAll(files, {{kData / "torch/views.pt"}, {path}});
    CHECK(opened[0]);
    REQUIRE_FALSE(opened[1]);
    CHECK(opened[1].error().code == ErrorCode::SourceChanged);
}

TEST_CASE("a stop ends opening")
{
    SharedFiles shared;
    std::stop_source stop;
    stop.request_stop();
    JobContext job(stop.get_token());
    const auto opened = openTorchFiles(io::realFileSystem(), allFiles(), job, shared);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::Cancelled);
}
