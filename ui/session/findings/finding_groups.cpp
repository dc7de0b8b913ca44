// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_groups.h"

#include "ui/text/text.h"

#include <QStringList>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr qsizetype kMostListed = 6;

bool isDigit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/// A message split at what may differ among alike ones: "rank 12 of “a”" is {"rank ", " of ", ""} and
/// {"12", "“a”"}. Numbers that are part of a word, as in a file name or a dtype, belong to the words.
struct Parts {
    std::vector<std::string> words{std::string()};
    std::vector<std::string> values; ///< numbers, shapes as "(256,)", and quoted names
    std::vector<std::string> names; ///< those of the values that are names
};

bool isWordPart(char byte)
{
    return isDigit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_'
        || byte == '.' || byte == '-';
}

/// The length of the quoted name that begins here; 0: none does.
size_t nameLength(std::string_view text)
{
    using Quotes = std::pair<std::string_view, std::string_view>;
    for (const auto& [open, close] : {Quotes{"`", "`"}, Quotes{"“", "”"}}) {
        if (!text.starts_with(open))
            continue;
        const size_t end = text.find(close, open.size());
        return end == std::string_view::npos ? 0 : end + close.size();
    }
    return 0;
}

/// The length of the shape that begins here, as Python writes it; 0: none does.
size_t shapeLength(std::string_view text)
{
    if (!text.starts_with('('))
        return 0;
    const size_t end = text.find_first_not_of("0123456789, ", 1);
    return end != std::string_view::npos && end > 1 && text[end] == ')' ? end + 1 : 0;
}

/// The length of the number that stands alone at `at`; 0: none does.
size_t numberLength(std::string_view text, size_t at)
{
    size_t end = at;
    while (end < text.size() && isDigit(text[end]))
        ++end;
    const bool alone = (at == 0 || !isWordPart(text[at - 1]))
        && (end == text.size() || !isWordPart(text[end]) || end + 1 == text.size());
    return alone ? end - at : 0;
}

Parts partsOf(std::string_view message)
{
    Parts parts;
    for (size_t at = 0; at < message.size();) {
        const size_t name = nameLength(message.substr(at));
        const size_t length = std::max({name, shapeLength(message.substr(at)), numberLength(message, at)});
        if (length == 0) {
            size_t end = at + 1; // a number that is part of a word goes with it
            while (end < message.size() && isDigit(message[at]) && isDigit(message[end]))
                ++end;
            parts.words.back() += message.substr(at, end - at);
            at = end;
            continue;
        }
        parts.values.emplace_back(message.substr(at, length));
        if (name > 0)
            parts.names.push_back(parts.values.back());
        parts.words.emplace_back();
        at += length;
    }
    return parts;
}

QString mergedMessage(const std::vector<const Parts*>& alike)
{
    const Parts& first = *alike.front();
    std::string text = first.words.front();
    for (size_t i = 0; i < first.values.size(); ++i) {
        QStringList different;
        for (const Parts* parts : alike) {
            const QString value = QString::fromStdString(parts->values[i]);
            if (!different.contains(value))
                different.append(value);
            if (different.size() > kMostListed)
                break;
        }
        const bool cut = different.size() > kMostListed;
        const QString between = first.values[i].starts_with('(') ? u" or "_s : u", "_s;
        text += different.mid(0, kMostListed).join(between).toStdString() + (cut ? ", …" : "")
            + first.words[i + 1];
    }
    return sentenceText(text);
}

/// Numbers of findings, by the key of each: in the order in which the keys are met first.
template <class Key, class KeyOf>
std::vector<std::vector<size_t>> classesOf(const std::vector<std::vector<size_t>>& input, KeyOf keyOf)
{
    std::map<Key, size_t> known;
    std::vector<std::vector<size_t>> out;
    for (const std::vector<size_t>& some : input) {
        const auto [entry, added] = known.try_emplace(keyOf(some), out.size());
        if (added)
            out.emplace_back();
        std::vector<size_t>& found = out[entry->second];
        found.insert(found.end(), some.begin(), some.end());
    }
    return out;
}

} // namespace

std::vector<FindingGroup> groupFindings(const std::vector<const Finding*>& findings, AlikeIn places)
{
    using Key = std::tuple<Severity, std::string_view, std::vector<std::string>, std::vector<std::string>,
        std::string>;
    std::vector<Parts> parts;
    std::vector<std::vector<size_t>> classes;
    for (const Finding* finding : findings) {
        classes.push_back({parts.size()});
        parts.push_back(partsOf(finding->message));
    }
    const auto keyOf = [&](size_t i, std::vector<std::string> names, std::string where) {
        return Key{
            findings[i]->severity, findings[i]->code, parts[i].words, std::move(names), std::move(where)};
    };
    classes = classesOf<Key>(classes, [&](const std::vector<size_t>& one) {
        return keyOf(one.front(), {}, findings[one.front()]->where.text());
    });
    if (places == AlikeIn::All)
        classes = classesOf<Key>(classes, [&](const std::vector<size_t>& alike) {
            const size_t first = alike.front();
            const bool differ = std::any_of(
                alike.begin(), alike.end(), [&](size_t i) { return parts[i].names != parts[first].names; });
            return keyOf(
                first, parts[first].names, differ ? findings[first]->where.text() + '\n' : std::string());
        });
    std::vector<FindingGroup> groups;
    for (std::vector<size_t>& alike : classes) {
        std::sort(alike.begin(), alike.end());
        FindingGroup& group = groups.emplace_back();
        std::vector<const Parts*> split;
        for (const size_t i : alike) {
            group.findings.push_back(findings[i]);
            split.push_back(&parts[i]);
        }
        group.message = mergedMessage(split);
    }
    std::stable_sort(groups.begin(), groups.end(),
        [](const FindingGroup& a, const FindingGroup& b) { return a.first().severity > b.first().severity; });
    return groups;
}

std::vector<FindingGroup> groupFindings(const std::vector<Finding>& findings)
{
    std::vector<const Finding*> pointers;
    for (const Finding& finding : findings)
        pointers.push_back(&finding);
    return groupFindings(pointers, AlikeIn::All);
}

} // namespace shardscope::ui
