// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/shell_words.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString quotedWord(const QString& argument)
{
    static const QString kPlain
        = u"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"_s;
    bool plain = !argument.isEmpty();
    for (const QChar character : argument)
        plain = plain && kPlain.contains(character);
    if (plain)
        return argument;
    QString inner = argument;
    return u'\'' % inner.replace(u"'"_s, u"'\\''"_s) % u'\'';
}

QString quotedWord(const std::string& argument)
{
    return quotedWord(QString::fromStdString(argument));
}

SourceWords sourceWords(const CheckPlace& place)
{
    SourceWords out;
    std::vector<io::Path> roots = place.open.roots;
    if (place.open.salvage && !roots.empty()) { // the command line takes the swap folder first
        out.path = quotedWord(roots.front().native());
        out.options << u"--donor"_s << quotedWord(place.path.native());
        roots.erase(roots.begin());
    } else {
        out.path = quotedWord(place.path.native());
    }
    if (!place.open.tag.empty())
        out.options << u"--tag"_s << quotedWord(place.open.tag);
    for (const io::Path& root : roots)
        out.options << u"--root"_s << quotedWord(root.native());
    return out;
}

SourceWords sourceWords(const Checkpoint& checkpoint, const CheckPlace& place)
{
    CheckPlace named = place;
    if (!checkpoint.runFolder.empty() && !checkpoint.tag.empty()) {
        named.path = checkpoint.runFolder;
        const bool isLatest = checkpoint.latest && *checkpoint.latest == checkpoint.tag;
        named.open.tag = isLatest ? std::string() : checkpoint.tag;
    } else if (named.path.empty()) {
        named.path = checkpoint.tagFolder;
    }
    return sourceWords(named);
}

} // namespace shardscope::ui
