// SPDX-License-Identifier: Apache-2.0
#include "ui/session/shell_words.h"

#include "core/checkpoint/open/source_arguments.h"

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

std::vector<std::string> unquotedWords(const QString& line)
{
    std::vector<std::string> out;
    QString word;
    bool isWord = false;
    bool isQuoted = false;
    for (qsizetype i = 0; i < line.size(); ++i) {
        const QChar letter = line[i];
        if (letter == u' ' && !isQuoted) {
            if (isWord)
                out.push_back(word.toStdString());
            word.clear();
            isWord = false;
            continue;
        }
        isWord = true;
        if (letter == u'\'')
            isQuoted = !isQuoted;
        else if (letter == u'\\' && !isQuoted && i + 1 < line.size())
            word += line[++i];
        else
            word += letter;
    }
    if (isWord)
        out.push_back(word.toStdString());
    return out;
}

SourceWords sourceWords(const CheckPlace& place)
{
    const SourceArguments source = sourceArguments(place.path, place.open);
    SourceWords out{quotedWord(source.path.native()), {}};
    for (const std::string& word : source.options)
        out.options << quotedWord(word);
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

QString pageCommand(const QString& page, const QStringList& options, const SourceWords& source)
{
    QStringList words{u"shardscope-gui"_s, u"--page"_s, page};
    words << options << source.options << source.path;
    return words.join(u' ');
}

ReportHead rowsHead(const QString& page, const QString& filter, const SourceWords& source)
{
    QStringList words;
    if (!filter.isEmpty())
        words << u"--filter"_s << quotedWord(filter);
    ReportHead head = reportHead(pageCommand(page, words, source).toStdString());
    head.filter = filter.toStdString();
    return head;
}

ShellCommand::ShellCommand(const QString& verb, const SourceWords& source)
    : m_words{u"shardscope"_s, verb, source.path}
    , m_last(source.options)
{
}

ShellCommand& ShellCommand::argument(const QString& value)
{
    m_words << quotedWord(value);
    return *this;
}

ShellCommand& ShellCommand::argument(const std::string& value)
{
    return argument(QString::fromStdString(value));
}

ShellCommand& ShellCommand::option(const QString& name, const QString& value)
{
    m_words << name << quotedWord(value);
    return *this;
}

ShellCommand& ShellCommand::option(const QString& name, const std::string& value)
{
    return option(name, QString::fromStdString(value));
}

ShellCommand& ShellCommand::option(const QString& name, uint64_t value)
{
    return option(name, QString::number(value));
}

ShellCommand& ShellCommand::options(const OptionFields& fields)
{
    for (const auto& [name, value] : wordsOf(fields)) {
        m_words << QString::fromStdString(name);
        if (value)
            argument(*value);
    }
    return *this;
}

ShellCommand& ShellCommand::flag(const QString& name, bool on)
{
    if (on)
        m_words << name;
    return *this;
}

ShellCommand& ShellCommand::optionIfAny(const QString& name, const std::string& value)
{
    return value.empty() ? *this : option(name, value);
}

QString ShellCommand::text() const
{
    return (m_words + m_last).join(u' ');
}

} // namespace shardscope::ui
