// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_files.h"

#include "core/base/parallel.h"
#include "core/io/held_file.h"
#include "core/io/open_files.h"
#include "core/torchfile/torch_file_records.h"
#include "core/torchfile/torch_file_sniff.h"
#include "core/torchfile/zip/zip_directory_end.h"
#include "core/torchfile/zip/zip_directory_entry.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <optional>

namespace shardscope {
namespace {

using Opened = Result<std::shared_ptr<const TorchFile>>;

/// Records of files whose contents are held at a time.
constexpr uint64_t kHeldBytes = uint64_t{128} << 20;
/// More of one file is not held: reading it takes longer than waiting for it.
constexpr uint64_t kHeldOfFile = uint64_t{1} << 20;
/// The same for the content of one record, a pickle.
constexpr uint64_t kHeldOfRecord = uint64_t{256} << 10;
/// What a local header can have besides its name: fields, padding to 64 bytes, a zip64 block.
constexpr uint64_t kHeaderBytes = 512;
constexpr uint64_t kDescriptorBytes = 24;
/// Ranges closer than this are read as one.
constexpr uint64_t kWorthReadingThrough = 4 << 10;

struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
};

struct File {
    std::unique_ptr<io::HeldFile> file; ///< null where it could not be opened
    std::optional<zip::EndRecords> end;
    std::vector<Range> records; ///< headers, and the contents of small records
};

class FilesOpener
{
public:
    FilesOpener(io::FileSystem& files, std::span<const TorchFileRequest> requests, JobContext& job,
        SharedFiles& shared)
        : m_system(files)
        , m_requests(requests)
        , m_job(job)
        , m_shared(shared)
        , m_files(requests.size())
        , m_opened(requests.size())
    {
    }

    Result<std::vector<Opened>> run()
    {
        openAll();
        SHARDSCOPE_CHECK(m_job.poll());
        SHARDSCOPE_CHECK(readEnds());
        readDirectories();
        SHARDSCOPE_CHECK(parallelFor(m_files.size(), defaultJobs(), m_job, [this](size_t i) -> Status {
            m_files[i].records = recordsOf(m_files[i]);
            return {};
        }));
        for (size_t begin = 0; begin < m_files.size();) {
            const size_t end = endOfGroup(begin);
            SHARDSCOPE_CHECK(interpret(begin, end));
            begin = end;
        }
        checkUnchanged();
        std::vector<Opened> out;
        for (std::optional<Opened>& one : m_opened)
            out.push_back(std::move(*one));
        return out;
    }

private:
    void openAll()
    {
        std::vector<io::Path> paths;
        for (const TorchFileRequest& request : m_requests)
            paths.push_back(request.path);
        std::vector<io::FileSystem::Opened> opened = m_system.openReadAll(paths);
        for (size_t i = 0; i < opened.size(); ++i) {
            if (opened[i])
                m_files[i].file = std::make_unique<io::HeldFile>(std::move(*opened[i]));
            else
                m_opened[i].emplace(forward(std::move(opened[i]).error()));
        }
    }

    Status readEnds()
    {
        std::vector<io::WantedRange> wanted;
        for (const File& file : m_files) {
            if (!file.file)
                continue;
            const uint64_t bytes = std::min(file.file->size(), zip::HeaderWindow::kTailBytes);
            wanted.push_back({file.file.get(), file.file->size() - bytes, bytes});
            wanted.push_back({file.file.get(), 0, kSniffBytes});
        }
        io::hold(m_system, wanted);
        return parallelFor(m_files.size(), defaultJobs(), m_job, [this](size_t i) -> Status {
            m_files[i].end = endOf(m_files[i]);
            return {};
        });
    }

    /// Nothing for other kinds of files, and for damaged ones: opening reports what is wrong.
    static std::optional<zip::EndRecords> endOf(const File& file)
    {
        if (!file.file)
            return std::nullopt;
        zip::HeaderWindow window(*file.file);
        const auto search = zip::findEnd(*file.file, window);
        const bool found = search && search->state == zip::EndSearch::State::Found
            && search->records.directoryBytes <= kHeldOfFile;
        return found ? std::optional(search->records) : std::nullopt;
    }

    void readDirectories()
    {
        std::vector<io::WantedRange> wanted;
        for (const File& file : m_files) {
            if (file.end)
                wanted.push_back({file.file.get(), file.end->directoryOffset, file.file->size()});
        }
        io::hold(m_system, wanted);
    }

    [[nodiscard]] std::vector<Range> recordsOf(const File& file) const
    {
        if (!file.end)
            return {};
        zip::HeaderWindow window(*file.file);
        JobContext unused;
        const auto entries = zip::readCentralDirectory(*file.file, window, *file.end, unused);
        if (!entries)
            return {};
        std::vector<Range> ranges;
        for (const zip::Entry& entry : *entries) {
            const ZipRecord& record = entry.record;
            const std::string_view name = record.name;
            const uint64_t payload = record.headerOffset + zip::kLocalBytes + name.size() + kHeaderBytes;
            const std::string_view inFolder = name.substr(std::min(name.find('/'), name.size() - 1) + 1);
            const bool isContent = record.bytes <= TorchFile::kSmallRecord
                || (record.bytes <= kHeldOfRecord && isTorchRecord(inFolder));
            const uint64_t after = record.headerOffset + zip::kLocalBytes + name.size() + record.bytes;
            ranges.push_back({record.headerOffset, payload + (isContent ? record.bytes : 0)});
            if (!isContent) // its descriptor, behind padding of unknown length
                ranges.push_back({after, after + kHeaderBytes + kDescriptorBytes});
        }
        return merged(std::move(ranges));
    }

    /// In ascending order, without overlaps; nothing where they are too long together.
    static std::vector<Range> merged(std::vector<Range> ranges)
    {
        std::sort(
            ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
        std::vector<Range> out;
        uint64_t bytes = 0;
        for (const Range& range : ranges) {
            if (out.empty() || range.begin > out.back().end + kWorthReadingThrough)
                out.push_back(range);
            else
                out.back().end = std::max(out.back().end, range.end);
        }
        for (const Range& range : out)
            bytes += range.end - range.begin;
        return bytes <= kHeldOfFile ? out : std::vector<Range>();
    }

    [[nodiscard]] size_t endOfGroup(size_t begin) const
    {
        uint64_t bytes = 0;
        size_t end = begin;
        for (; end < m_files.size(); ++end) {
            for (const Range& range : m_files[end].records)
                bytes += range.end - range.begin;
            if (bytes > kHeldBytes && end > begin)
                break;
        }
        return end;
    }

    Status interpret(size_t begin, size_t end)
    {
        std::vector<io::WantedRange> wanted;
        for (size_t i = begin; i < end; ++i) {
            for (const Range& range : m_files[i].records)
                wanted.push_back({m_files[i].file.get(), range.begin, range.end - range.begin});
        }
        io::hold(m_system, wanted);
        return parallelFor(end - begin, defaultJobs(), m_job, [&](size_t at) -> Status {
            const size_t i = begin + at;
            if (!m_files[i].file)
                return {};
            m_opened[i].emplace(TorchFile::open(
                *m_files[i].file, ReadMode::Tolerant, m_job, &m_shared, m_requests[i].reduce));
            m_files[i].file->forgetAll();
            return {};
        });
    }

    void checkUnchanged()
    {
        std::vector<const io::ReadFile*> files;
        std::vector<size_t> indices;
        for (size_t i = 0; i < m_files.size(); ++i) {
            if (!m_opened[i]->has_value())
                continue;
            files.push_back(&m_files[i].file->inner());
            indices.push_back(i);
        }
        std::vector<Status> unchanged = m_system.checkAllUnchanged(files);
        for (size_t i = 0; i < unchanged.size(); ++i) {
            if (!unchanged[i])
                m_opened[indices[i]].emplace(forward(std::move(unchanged[i]).error()));
        }
    }

    io::FileSystem& m_system;
    std::span<const TorchFileRequest> m_requests;
    JobContext& m_job;
    SharedFiles& m_shared;
    std::vector<File> m_files;
    std::vector<std::optional<Opened>> m_opened;
};

} // namespace

Result<std::vector<Opened>> openTorchFiles(
    io::FileSystem& files, std::span<const TorchFileRequest> requests, JobContext& job, SharedFiles& shared)
{
    std::vector<Opened> out;
    const size_t together = io::filesAtATime(); // 69 KiB of each are held
    for (size_t begin = 0; begin < requests.size(); begin += together) {
        const size_t count = std::min(together, requests.size() - begin);
        SHARDSCOPE_TRY(
            std::vector<Opened> some, FilesOpener(files, requests.subspan(begin, count), job, shared).run());
        std::move(some.begin(), some.end(), std::back_inserter(out));
    }
    return out;
}

size_t filesToOpenTogether(std::span<const uint64_t> bytes)
{
    constexpr uint64_t kMostBytes = uint64_t{256} << 20;
    constexpr size_t kMostFiles = 1024;
    const size_t atLeast = std::min(2 * defaultJobs(), 16U);
    uint64_t total = 0;
    size_t count = 0;
    for (; count < std::min(bytes.size(), kMostFiles); ++count) {
        if (bytes[count] > kMostBytes - total && count >= atLeast)
            break;
        total += std::min(bytes[count], kMostBytes - total);
    }
    return count;
}

} // namespace shardscope
