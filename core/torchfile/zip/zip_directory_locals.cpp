// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_locals.h"

#include "core/base/checked.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace shardscope::zip {
namespace {

/// Headers closer than this are read together with the bytes between them.
constexpr uint64_t kWorthReadingThrough = 32 << 10;
/// Padding and a zip64 block after the name; a longer header costs one more read.
constexpr uint64_t kUsualExtraBytes = 512;

class LocalReader
{
public:
    LocalReader(const LocalsInput& input, std::vector<Entry>& entries, Oddities& oddities)
        : m_file(input.file)
        , m_window(input.window)
        , m_entries(entries)
        , m_directoryOffset(input.directoryOffset)
        , m_mode(input.mode)
        , m_oddities(oddities)
    {
        m_order.resize(entries.size());
        std::iota(m_order.begin(), m_order.end(), 0u);
        const auto before = [&](uint32_t a, uint32_t b) { return offsetOf(a) < offsetOf(b); };
        if (!std::is_sorted(m_order.begin(), m_order.end(), before)) {
            m_inOrder = false;
            std::sort(m_order.begin(), m_order.end(), before);
        }
    }

    Result<Locals> read(JobContext& job)
    {
        if (offsetOf(m_order.front()) != 0)
            return hostile("there is data before the archive's first record, where other readers may find "
                           "another archive");
        uint64_t end = 0; // of the record before, descriptor not included
        for (size_t i = 0; i < m_order.size(); ++i) {
            if (i % 1024 == 0)
                SHARDSCOPE_CHECK(job.poll());
            Entry& entry = m_entries[m_order[i]];
            const uint64_t header = entry.record.headerOffset;
            if (header < end)
                return overlap(m_order[i - 1], m_order[i]);
            if (i > 0)
                SHARDSCOPE_CHECK(finish(m_entries[m_order[i - 1]], end, header, reach(i, end)));
            SHARDSCOPE_CHECK(readHeader(entry, reach(i, header)));
            end = entry.record.payloadOffset + entry.record.bytes;
        }
        if (end > m_directoryOffset)
            return hostile(
                "record '" + m_entries[m_order.back()].record.name + "' overlaps the archive's directory");
        SHARDSCOPE_CHECK(finish(m_entries[m_order.back()], end, m_directoryOffset, 0));

        Locals locals;
        if (m_inOrder && m_alignments != 0)
            locals.alignment = (m_alignments & 64) != 0 ? 64 : std::bit_floor(m_alignments);
        return locals;
    }

private:
    [[nodiscard]] uint64_t offsetOf(uint32_t entry) const { return m_entries[entry].record.headerOffset; }

    /// How far a read at `from` should go so that it also serves the records after number `i`.
    [[nodiscard]] uint64_t reach(size_t i, uint64_t from)
    {
        const Entry& entry = m_entries[m_order[i]];
        uint64_t end = entry.record.headerOffset + kLocalBytes + entry.record.name.size() + kUsualExtraBytes;
        if (m_window.holds(from, end - from))
            return 0;
        for (size_t next = i + 1; next < m_order.size(); ++next) {
            const Entry& other = m_entries[m_order[next]];
            const uint64_t start = other.record.headerOffset;
            if (start > end + kWorthReadingThrough || start - from > HeaderWindow::kWindowBytes)
                break;
            end = std::max(end, start + kLocalBytes + other.record.name.size() + kUsualExtraBytes);
        }
        return end - from;
    }

    Status readHeader(Entry& entry, uint64_t ahead)
    {
        ZipRecord& record = entry.record;
        const uint64_t atLeast = kLocalBytes + record.name.size();
        record.payloadOffset = record.headerOffset + atLeast; // while nothing better is known
        auto viewed = viewLocalHeader(m_window, record.headerOffset, ahead);
        if (!viewed && viewed.error().code == ErrorCode::Unreadable) // perhaps only bytes next to it
            viewed = viewLocalHeader(m_window, record.headerOffset);
        if (!viewed && viewed.error().code == ErrorCode::Unreadable && m_mode == ReadMode::Tolerant)
            return damage(entry, Oddity::HeaderUnreadable);
        if (!viewed && viewed.error().code != ErrorCode::Damaged)
            return forward(std::move(viewed).error());
        if (!viewed)
            return hostile("the local header of record '" + record.name + "' overruns the archive or itself");
        if (!*viewed) {
            if (m_mode == ReadMode::Tolerant)
                return damage(entry, Oddity::HeaderDamaged);
            return fail(ErrorCode::Damaged, "record '" + record.name + "' has no valid header", path());
        }
        const LocalHeader& local = **viewed;
        SHARDSCOPE_CHECK(compare(entry, local));
        record.payloadOffset = record.headerOffset + local.headerBytes;
        if (record.payloadOffset > m_directoryOffset
            || record.bytes > m_directoryOffset - record.payloadOffset)
            return hostile("record '" + record.name + "' overlaps the archive's directory");
        if (local.foreignPadding)
            m_oddities.add(Oddity::ForeignPadding, record.name);
        entry.padBytes = local.padBytes;
        entry.asTorchWrites = entry.asTorchWrites && isTorchs(entry, local);
        noteAlignment(entry);
        return {};
    }

    Status compare(const Entry& entry, const LocalHeader& local) const
    {
        const ZipRecord& record = entry.record;
        const bool deferred = (entry.flags & kFlagDescriptor) != 0;
        const auto differs = [&](uint64_t inHeader, uint64_t inDirectory) {
            return inHeader != inDirectory && !(deferred && inHeader == 0);
        };
        std::string_view what;
        if (local.name != record.name)
            what = "name";
        else if (local.flags != entry.flags)
            what = "flags";
        else if (local.method != entry.method)
            what = "compression method";
        else if (differs(local.crc32, record.crc32))
            what = "checksum";
        else if (differs(local.storedBytes, record.bytes)
            || differs(local.inflatedBytes, record.inflatedBytes))
            what = "size";
        if (what.empty())
            return {};
        return hostile("the directory and the local header of record '" + record.name
            + "' disagree about its " + std::string(what));
    }

    bool isTorchs(const Entry& entry, const LocalHeader& local)
    {
        const std::string_view name = entry.record.name;
        const size_t slash = name.find('/');
        if (slash == std::string::npos)
            return false;
        m_expected.clear();
        appendLocalHeader(m_expected, name.substr(0, slash), name.substr(slash + 1), entry.record.bytes,
            entry.record.headerOffset, local.padBytes);
        return m_expected.size() == local.raw.size()
            && std::memcmp(m_expected.data(), local.raw.data(), local.raw.size()) == 0;
    }

    void noteAlignment(const Entry& entry)
    {
        if (!entry.asTorchWrites) {
            m_alignments = 0;
            return;
        }
        const uint64_t unpadded = entry.record.payloadOffset - entry.padBytes;
        for (uint32_t alignment = 1; alignment <= 32768; alignment *= 2)
            if (divideRoundUp(unpadded, alignment) * alignment != entry.record.payloadOffset)
                m_alignments &= ~alignment;
    }

    Status damage(Entry& entry, Oddity why)
    {
        entry.record.damaged = true;
        entry.asTorchWrites = false;
        m_alignments = 0;
        m_oddities.add(why, entry.record.name);
        return {};
    }

    /// The bytes between the payload of `entry` and `next`: only its descriptor.
    Status finish(Entry& entry, uint64_t end, uint64_t next, uint64_t ahead)
    {
        const bool deferred = (entry.flags & kFlagDescriptor) != 0;
        uint64_t length = 0;
        if (deferred && !entry.record.damaged) {
            auto found
                = matchDescriptor(m_window, entry, next, next - end <= kWorthReadingThrough ? ahead : 0);
            if (!found && (found.error().code != ErrorCode::Unreadable || m_mode == ReadMode::Strict))
                return forward(std::move(found).error());
            length = found.value_or(0);
            if (length == 0)
                m_oddities.add(found ? Oddity::DescriptorWrong : Oddity::HeaderUnreadable, entry.record.name);
            if (length != descriptorBytes(entry.record.bytes, entry.record.headerOffset))
                m_alignments = 0;
        }
        if (length != next - end) {
            m_alignments = 0;
            // A damaged header's own length is unknown, and a wrong descriptor has already been reported.
            if (!entry.record.damaged && !(deferred && length == 0))
                m_oddities.add(Oddity::Gap, {}, next - end - length);
        }
        return {};
    }

    [[nodiscard]] std::string path() const { return m_file.path().string(); }
    [[nodiscard]] tl::unexpected<Error> hostile(std::string message) const
    {
        return fail(ErrorCode::Hostile, std::move(message), path());
    }
    [[nodiscard]] tl::unexpected<Error> overlap(uint32_t a, uint32_t b) const
    {
        return hostile("records '" + m_entries[a].record.name + "' and '" + m_entries[b].record.name
            + "' overlap in the archive");
    }

    const io::ReadFile& m_file;
    HeaderWindow& m_window;
    std::vector<Entry>& m_entries;
    uint64_t m_directoryOffset;
    ReadMode m_mode;
    Oddities& m_oddities;
    std::vector<uint32_t> m_order;
    bool m_inOrder = true;
    uint32_t m_alignments = 0xFFFF; ///< bit k: 2^k explains every payload offset so far
    std::string m_expected;
};

} // namespace

Result<Locals> readLocals(
    const LocalsInput& input, std::vector<Entry>& entries, Oddities& oddities, JobContext& job)
{
    return LocalReader(input, entries, oddities).read(job);
}

} // namespace shardscope::zip
