// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_groups.h"

#include "ui/text/text.h"

#include <QStringList>

#include <algorithm>
#include <map>
#include <tuple>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr qsizetype kMaxNumbers = 6;

bool isDigit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/// A message split at its numbers: "rank 12 of 16" is {"rank ", " of ", ""} and {"12", "16"}. Numbers
/// that are part of a word, as in a file name or a dtype, belong to the words.
struct Parts {
    std::vector<std::string> words{std::string()};
    std::vector<std::string> numbers;
};

bool isWordPart(char byte)
{
    return isDigit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_'
        || byte == '.' || byte == '-';
}

Parts partsOf(const std::string& message)
{
    Parts parts;
    for (size_t at = 0; at < message.size();) {
        size_t end = at;
        while (end < message.size() && isDigit(message[end]))
            ++end;
        const bool alone = end > at && (at == 0 || !isWordPart(message[at - 1]))
            && (end == message.size() || !isWordPart(message[end]) || end + 1 == message.size());
        if (alone) {
            parts.numbers.push_back(message.substr(at, end - at));
            parts.words.emplace_back();
        } else {
            end = std::max(end, at + 1);
            parts.words.back() += message.substr(at, end - at);
        }
        at = end;
    }
    return parts;
}

QString mergedMessage(const std::vector<Parts>& alike)
{
    const Parts& first = alike.front();
    std::string text = first.words.front();
    for (size_t i = 0; i < first.numbers.size(); ++i) {
        QStringList different;
        for (const Parts& parts : alike) {
            const QString number = QString::fromStdString(parts.numbers[i]);
            if (!different.contains(number))
                different.append(number);
            if (different.size() > kMaxNumbers)
                break;
        }
        const bool cut = different.size() > kMaxNumbers;
        text += different.mid(0, kMaxNumbers).join(u", "_s).toStdString() + (cut ? ", …" : "")
            + first.words[i + 1];
    }
    return sentenceText(text);
}

} // namespace

std::vector<FindingGroup> groupFindings(const std::vector<Finding>& findings)
{
    using Key = std::tuple<Severity, std::string, std::vector<std::string>>;
    std::map<Key, size_t> known;
    std::vector<FindingGroup> groups;
    std::vector<std::vector<Parts>> parts;
    for (const Finding& finding : findings) {
        Parts own = partsOf(finding.message);
        const auto [entry, added]
            = known.try_emplace(Key{finding.severity, std::string(finding.code), own.words}, groups.size());
        if (added) {
            groups.emplace_back();
            parts.emplace_back();
        }
        groups[entry->second].findings.push_back(&finding);
        parts[entry->second].push_back(std::move(own));
    }
    for (size_t i = 0; i < groups.size(); ++i)
        groups[i].message = mergedMessage(parts[i]);
    std::stable_sort(groups.begin(), groups.end(),
        [](const FindingGroup& a, const FindingGroup& b) { return a.first().severity > b.first().severity; });
    return groups;
}

} // namespace shardscope::ui
