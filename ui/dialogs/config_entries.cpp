// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/config_entries.h"

#include <QRegularExpression>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Open brackets and quotation marks of JSON.
class Nesting
{
public:
    void take(QChar character)
    {
        if (m_quoted) {
            m_quoted = m_escaped || character != u'"';
            m_escaped = !m_escaped && character == u'\\';
            return;
        }
        m_quoted = character == u'"';
        if (character == u'[' || character == u'{')
            ++m_depth;
        else if (character == u']' || character == u'}')
            --m_depth;
    }
    [[nodiscard]] bool isOpen() const { return m_quoted || m_depth > 0; }

private:
    int m_depth = 0;
    bool m_quoted = false;
    bool m_escaped = false;
};

} // namespace

std::optional<std::vector<std::string>> configEntries(const QString& text)
{
    static const QRegularExpression kBegin(u"\\G[A-Za-z_][A-Za-z0-9_]*="_s);
    const QString all = text.trimmed();
    std::vector<qsizetype> begins;
    Nesting nesting;
    for (qsizetype i = 0; i < all.size(); ++i) {
        const bool first = i == 0 || all[i - 1].isSpace();
        if (first && !nesting.isOpen() && kBegin.match(all, i).hasMatch()) {
            begins.push_back(i);
            nesting = {};
        }
        nesting.take(all[i]);
    }
    if (!all.isEmpty() && (begins.empty() || begins.front() != 0))
        return {};
    std::vector<std::string> out;
    for (size_t i = 0; i < begins.size(); ++i) {
        const qsizetype end = i + 1 < begins.size() ? begins[i + 1] : all.size();
        out.push_back(all.mid(begins[i], end - begins[i]).trimmed().toStdString());
    }
    return out;
}

} // namespace shardscope::ui
