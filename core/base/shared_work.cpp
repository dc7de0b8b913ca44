// SPDX-License-Identifier: Apache-2.0
#include "core/base/shared_work.h"

#include "core/base/wire.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace shardscope {

Result<std::vector<std::string>> SharedWork::exchange(const Result<std::string>& own)
{
    if (own)
        return pass(Kind::Found, *own, {});
    return pass(Kind::Failed, {}, forward(own.error()));
}

Status SharedWork::end(const Status& own)
{
    if (m_isOver)
        return own;
    m_isOver = true;
    const auto others = pass(Kind::Ended, {}, own);
    if (!own)
        return own; // it says more than that the others do not end
    SHARDSCOPE_CHECK(others);
    return {};
}

/// Every process gets the words of all. Kinds differ only if a process ended while others go on.
Result<std::vector<std::string>> SharedWork::pass(Kind kind, const std::string& text, const Status& own)
{
    WireWriter out;
    out.word(kind, Kind::Ended);
    out(text, own);
    SHARDSCOPE_TRY(const auto gathered, m_peers.gather(out.take()));
    std::vector<std::string> copies;
    if (rank() == 0)
        copies.assign(size(), toWire(gathered));
    SHARDSCOPE_TRY(const std::string received, m_peers.scatter(std::move(copies)));

    std::vector<std::string> words;
    (void)fromWire(received, words); // what is missing becomes an error below
    words.resize(size());
    std::vector<std::string> texts(size());
    Status first;
    for (uint32_t i = 0; i < size(); ++i) {
        WireReader each(words[i]);
        Kind kindOfIt{};
        Status status;
        each.word(kindOfIt, Kind::Ended);
        each(texts[i], status);
        if (!each.isGood())
            status = fail(ErrorCode::Internal, "a process of the job sent what cannot be read");
        m_isOver = m_isOver || kindOfIt == Kind::Ended;
        if (status && (kindOfIt == Kind::Ended) != (kind == Kind::Ended))
            status = fail(ErrorCode::Internal, "process " + std::to_string(i) + " of the job ended early");
        if (first)
            first = std::move(status);
    }
    SHARDSCOPE_CHECK(std::move(first));
    return texts;
}

std::vector<uint32_t> dividedBySize(const std::vector<uint64_t>& sizes, uint32_t processes)
{
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return sizes[i]; });
    std::vector<uint64_t> load(processes);
    std::vector<uint32_t> out(sizes.size());
    for (const size_t item : order) {
        const auto least = std::ranges::min_element(load);
        out[item] = static_cast<uint32_t>(least - load.begin());
        *least += sizes[item];
    }
    return out;
}

} // namespace shardscope
