// SPDX-License-Identifier: Apache-2.0
#include "ui/models/shell_words.h"

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

QStringList tagWords(const Checkpoint& checkpoint)
{
    if (checkpoint.latest && *checkpoint.latest == checkpoint.tag)
        return {};
    return {u"--tag"_s, quotedWord(checkpoint.tag)};
}

} // namespace shardscope::ui
