// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_end.h"

#include "core/torchfile/zip/zip_format.h"

#include <cstring>
#include <optional>

namespace shardscope::zip {
namespace {

constexpr uint64_t kMaxEntries = 4'000'000;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{1} << 30;

/// One place that carries an end signature.
class Candidate
{
public:
    Candidate(const io::ReadFile& file, HeaderWindow& window, uint64_t offset)
        : m_file(file)
        , m_window(window)
        , m_offset(offset)
    {
    }

    Result<EndSearch> read()
    {
        SHARDSCOPE_TRY(const auto end, m_window.view(m_offset, kEndBytes));
        const uint16_t disk = get16(&end[4]);
        const uint16_t directoryDisk = get16(&end[6]);
        const uint16_t entriesHere = get16(&end[8]);
        const uint16_t entries = get16(&end[10]);
        const uint32_t directoryBytes = get32(&end[12]);
        const uint32_t directoryOffset = get32(&end[16]);
        m_records.commentBytes = get16(&end[20]);
        m_records.endOffset = m_offset;
        const uint64_t after = m_file.size() - m_offset - kEndBytes;
        if (m_records.commentBytes > after)
            return damaged("the archive's comment reaches past the end of the file");
        m_records.trailingBytes = after - m_records.commentBytes;
        if (disk != 0 || directoryDisk != 0 || entriesHere != entries)
            return fail(ErrorCode::Unsupported, "the archive is one of several volumes", path());

        uint64_t directoryEnd = m_offset;
        SHARDSCOPE_TRY(const std::optional<uint64_t> zip64At, readZip64());
        if (zip64At) {
            directoryEnd = *zip64At;
            if (!agrees(entries, kMax16, m_records.entries)
                || !agrees(directoryBytes, kMax32, m_records.directoryBytes)
                || !agrees(directoryOffset, kMax32, m_records.directoryOffset))
                return damaged("the archive's two end records contradict each other");
        } else {
            if (entries == kMax16 || directoryBytes == kMax32 || directoryOffset == kMax32)
                return damaged("the archive's zip64 end record is missing");
            m_records.entries = entries;
            m_records.directoryBytes = directoryBytes;
            m_records.directoryOffset = directoryOffset;
        }
        return judge(directoryEnd);
    }

private:
    /// The zip64 end record, when there is a locator. Returns its offset; it must be directly before the
    /// locator.
    Result<std::optional<uint64_t>> readZip64()
    {
        if (m_offset < kZip64LocatorBytes)
            return std::optional<uint64_t>();
        const uint64_t locatorAt = m_offset - kZip64LocatorBytes;
        SHARDSCOPE_TRY(const auto locator, m_window.view(locatorAt, kZip64LocatorBytes));
        if (get32(&locator[0]) != kZip64LocatorSignature)
            return std::optional<uint64_t>();
        const uint64_t claimed = get64(&locator[8]);
        if (get32(&locator[4]) != 0 || get32(&locator[16]) > 1)
            return fail(ErrorCode::Unsupported, "the archive is one of several volumes", path());
        if (locatorAt < kZip64EndBytes)
            return damaged("the archive's zip64 locator points outside the file");
        const uint64_t at = locatorAt - kZip64EndBytes;
        SHARDSCOPE_TRY(const auto end, m_window.view(at, kZip64EndBytes));
        if (get32(&end[0]) != kZip64EndSignature || get64(&end[4]) != kZip64EndBytes - 12)
            return damaged("the archive's zip64 end record is not where it should be");
        if (claimed > at)
            return damaged("the archive's zip64 locator points outside the file");
        m_displacement = at - claimed;
        if (get32(&end[16]) != 0 || get32(&end[20]) != 0 || get64(&end[24]) != get64(&end[32]))
            return fail(ErrorCode::Unsupported, "the archive is one of several volumes", path());
        m_records.hasZip64 = true;
        m_records.entries = get64(&end[32]);
        m_records.directoryBytes = get64(&end[40]);
        m_records.directoryOffset = get64(&end[48]);
        return std::optional<uint64_t>(at);
    }

    Result<EndSearch> judge(uint64_t directoryEnd)
    {
        if (m_records.entries > kMaxEntries || m_records.directoryBytes > kMaxDirectoryBytes)
            return fail(ErrorCode::LimitExceeded,
                "the archive claims " + std::to_string(m_records.entries)
                    + " records; the limit is 4000000 records in a directory of 1 GiB",
                path());
        if (m_records.entries * kCentralBytes > m_records.directoryBytes)
            return damaged("the archive's directory is too short for its number of records");
        if (m_records.directoryOffset > directoryEnd
            || m_records.directoryBytes > directoryEnd - m_records.directoryOffset)
            return damaged("the archive's directory is outside the file");
        const uint64_t gap = directoryEnd - m_records.directoryOffset - m_records.directoryBytes;
        if (m_records.hasZip64 && m_displacement != gap)
            return damaged("the archive's end records contradict each other about the directory's position");
        if (m_records.entries == 0)
            return damaged("the archive has no records");
        EndSearch found;
        found.records = m_records;
        found.displacement = gap;
        found.state = gap == 0 ? EndSearch::State::Found : EndSearch::State::Displaced;
        return found;
    }

    template <class T>
    static bool agrees(T classic, T clipped, uint64_t zip64)
    {
        return classic == zip64 || (classic == clipped && zip64 >= clipped);
    }

    [[nodiscard]] std::string path() const { return m_file.path().string(); }
    [[nodiscard]] tl::unexpected<Error> damaged(std::string message) const
    {
        return fail(ErrorCode::Damaged, std::move(message), path());
    }

    const io::ReadFile& m_file;
    HeaderWindow& m_window;
    uint64_t m_offset;
    EndRecords m_records;
    uint64_t m_displacement = 0;
};

} // namespace

Result<EndSearch> findEnd(const io::ReadFile& file, HeaderWindow& window)
{
    SHARDSCOPE_TRY(const auto tail, window.tail());
    const uint64_t tailOffset = window.tailOffset();
    std::optional<EndSearch> found;
    std::optional<EndSearch> displaced;
    std::optional<Error> firstError;
    if (tail.size() < kEndBytes)
        return EndSearch{};
    // From the back: the last candidate is the one every zip reader tries first. All are looked at, in every
    // file that is opened; memrchr() looks at many bytes at once.
    static_assert((kEndSignature & 0xff) == 'P');
    size_t at = tail.size() - kEndBytes + 1;
    while (const void* const letter = ::memrchr(tail.data(), 'P', at)) {
        at = static_cast<size_t>(static_cast<const uint8_t*>(letter) - tail.data());
        if (get32(&tail[at]) != kEndSignature)
            continue;
        auto candidate = Candidate(file, window, tailOffset + at).read();
        if (!candidate) {
            if (candidate.error().code == ErrorCode::Unreadable)
                return forward(std::move(candidate).error());
            if (!firstError)
                firstError = std::move(candidate).error();
            continue;
        }
        if (candidate->state == EndSearch::State::Displaced) {
            if (!displaced)
                displaced = *candidate;
            continue;
        }
        if (found)
            return fail(ErrorCode::Hostile,
                "two end records both describe this archive, with different contents", file.path().string());
        found = *candidate;
    }
    // A displaced archive after a valid one hides it from every reader that searches from the end.
    if (displaced && (!found || displaced->records.endOffset > found->records.endOffset))
        return *displaced;
    if (found)
        return *found;
    if (firstError)
        return forward(std::move(*firstError));
    return EndSearch{};
}

} // namespace shardscope::zip
