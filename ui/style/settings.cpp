// SPDX-License-Identifier: Apache-2.0
#include "ui/style/settings.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString storePath(const QString& folder)
{
    QString chosen = folder.isEmpty() ? qEnvironmentVariable("SHARDSCOPE_SETTINGS") : folder;
    if (chosen.isEmpty())
        chosen = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) % u"/shardscope"_s;
    return QDir(chosen).filePath(u"window.ini"_s);
}

} // namespace

bool isSamePlace(const OpenedEntry& a, const OpenedEntry& b)
{
    return a.path == b.path && a.tag == b.tag && a.roots == b.roots && a.salvage == b.salvage
        && a.kind == b.kind;
}

Settings::Settings(const QString& folder, QObject* parent)
    : QObject(parent)
    , m_store(storePath(folder), QSettings::IniFormat)
{
    if (m_store.value(u"format"_s, kFormat).toInt() != kFormat)
        m_store.clear();
    m_store.setValue(u"format"_s, kFormat);
}

QString Settings::folder() const
{
    return QFileInfo(m_store.fileName()).absolutePath();
}

QStringList Settings::filters() const
{
    return m_store.value(u"filters"_s).toStringList();
}

void Settings::setFilters(const QStringList& filters)
{
    m_store.setValue(u"filters"_s, QStringList(filters.mid(0, kMaxFilters)));
}

int Settings::jobLimit() const
{
    return m_store.value(u"jobs/limit"_s, 1).toInt();
}

void Settings::setJobLimit(int jobs)
{
    m_store.setValue(u"jobs/limit"_s, jobs);
}

ThemeMode Settings::themeMode() const
{
    const QString mode = m_store.value(u"theme"_s).toString();
    if (mode == "high-contrast"_L1)
        return ThemeMode::HighContrast;
    return mode == "light"_L1 ? ThemeMode::Light : mode == "dark"_L1 ? ThemeMode::Dark : ThemeMode::System;
}

void Settings::setThemeMode(ThemeMode mode)
{
    m_store.setValue(u"theme"_s,
        mode == ThemeMode::Light              ? u"light"_s
            : mode == ThemeMode::Dark         ? u"dark"_s
            : mode == ThemeMode::HighContrast ? u"high-contrast"_s
                                              : u"system"_s);
}

int Settings::textSize() const
{
    return m_store.value(u"textSize"_s, 100).toInt();
}

void Settings::setTextSize(int percent)
{
    m_store.setValue(u"textSize"_s, percent);
}

bool Settings::restoresOpened() const
{
    return m_store.value(u"restore/opened"_s, true).toBool();
}

void Settings::setRestoresOpened(bool restores)
{
    m_store.setValue(u"restore/opened"_s, restores);
}

OpenedEntry Settings::readEntry() const
{
    const auto text = [this](const QString& key) { return m_store.value(key).toString(); };
    return {text(u"path"_s), text(u"tag"_s), text(u"page"_s), text(u"selected"_s), text(u"filter"_s),
        text(u"against"_s), m_store.value(u"roots"_s).toStringList(), m_store.value(u"salvage"_s).toBool(),
        text(u"kind"_s), m_store.value(u"pages"_s).toStringList(), m_store.value(u"window"_s).toInt()};
}

void Settings::writeEntry(const OpenedEntry& entry)
{
    const auto write = [this](const QString& key, const auto& value) {
        if (value != std::decay_t<decltype(value)>{})
            m_store.setValue(key, value);
    };
    write(u"path"_s, entry.path);
    write(u"tag"_s, entry.tag);
    write(u"page"_s, entry.page);
    write(u"selected"_s, entry.selected);
    write(u"filter"_s, entry.filter);
    write(u"against"_s, entry.against);
    write(u"roots"_s, entry.roots);
    write(u"salvage"_s, entry.salvage);
    write(u"kind"_s, entry.kind);
    write(u"pages"_s, entry.pages);
    write(u"window"_s, entry.window);
}

QList<OpenedEntry> Settings::opened() const
{
    QList<OpenedEntry> entries;
    const int count = std::min(m_store.beginReadArray(u"opened"_s), kMaxRecent);
    for (int i = 0; i < count; ++i) {
        m_store.setArrayIndex(i);
        const OpenedEntry entry = readEntry();
        if (!entry.path.isEmpty())
            entries.append(entry);
    }
    m_store.endArray();
    return entries;
}

void Settings::setOpened(const QList<OpenedEntry>& entries)
{
    m_store.remove(u"opened"_s);
    m_store.beginWriteArray(u"opened"_s, static_cast<int>(entries.size()));
    for (int i = 0; i < entries.size(); ++i) {
        m_store.setArrayIndex(i);
        writeEntry(entries[i]);
    }
    m_store.endArray();
}

QMap<int, int> Settings::columns(const QString& table) const
{
    QMap<int, int> widths;
    for (const QString& word : m_store.value(u"columns/"_s % table).toStringList()) {
        const QStringList parts = word.split(u'=');
        if (parts.size() == 2)
            widths.insert(parts[0].toInt(), std::clamp(parts[1].toInt(), -1, 10'000));
    }
    return widths;
}

void Settings::setColumns(const QString& table, const QMap<int, int>& widths)
{
    QStringList words;
    for (auto it = widths.begin(); it != widths.end(); ++it)
        words.append(u"%1=%2"_s.arg(it.key()).arg(it.value()));
    m_store.setValue(u"columns/"_s % table, words);
}

QStringList Settings::layouts() const
{
    m_store.beginGroup(u"layouts"_s);
    QStringList names;
    for (const QString& key : m_store.childKeys())
        names.append(QString::fromUtf8(QByteArray::fromHex(key.toLatin1())));
    m_store.endGroup();
    names.sort(Qt::CaseInsensitive);
    return names;
}

namespace {

/// A name as a key: QSettings divides keys at slashes.
QString layoutKey(const QString& name)
{
    return u"layouts/"_s % QString::fromLatin1(name.toUtf8().toHex());
}

} // namespace

QByteArray Settings::layout(const QString& name) const
{
    return m_store.value(layoutKey(name)).toByteArray();
}

void Settings::setLayout(const QString& name, const QByteArray& docks)
{
    if (docks.isEmpty())
        m_store.remove(layoutKey(name));
    else
        m_store.setValue(layoutKey(name), docks);
}

QByteArray Settings::geometry() const
{
    return m_store.value(u"window/geometry"_s).toByteArray();
}

QByteArray Settings::docks() const
{
    return m_store.value(u"window/docks"_s).toByteArray();
}

void Settings::setWindow(const QByteArray& geometry, const QByteArray& docks)
{
    m_store.setValue(u"window/geometry"_s, geometry);
    m_store.setValue(u"window/docks"_s, docks);
}

WriteHistory Settings::writeHistory(const io::Path& run) const
{
    const bool same = m_store.value(u"reshard/run"_s).toString() == QString::fromStdString(run.native());
    return {same ? m_store.value(u"reshard/target"_s).toString() : QString(),
        m_store.value(u"jobs/writeRate"_s, 0).toULongLong()};
}

void Settings::setLastTarget(const io::Path& run, const io::Path& folder)
{
    m_store.setValue(u"reshard/run"_s, QString::fromStdString(run.native()));
    m_store.setValue(u"reshard/target"_s, QString::fromStdString(folder.native()));
}

void Settings::setWriteRate(uint64_t bytesPerSecond)
{
    m_store.setValue(u"jobs/writeRate"_s, static_cast<qulonglong>(bytesPerSecond));
}

QList<RecentEntry> Settings::recent() const
{
    // Reading an array moves a cursor inside QSettings; the settings themselves stay as they are.
    QSettings& store = m_store;
    QList<RecentEntry> entries;
    const int count = std::min(store.beginReadArray(u"recent"_s), 2 * kMaxRecent);
    for (int i = 0; i < count; ++i) {
        store.setArrayIndex(i);
        RecentEntry entry{readEntry()};
        entry.title = store.value(u"title"_s).toString();
        entry.bytes = store.value(u"bytes"_s).toULongLong();
        entry.tags = store.value(u"tags"_s).toInt();
        entry.when = store.value(u"when"_s).toDateTime();
        entry.pinned = store.value(u"pinned"_s).toBool();
        if (!entry.path.isEmpty())
            entries.append(entry);
    }
    store.endArray();
    std::stable_sort(entries.begin(), entries.end(), [](const RecentEntry& a, const RecentEntry& b) {
        return a.pinned != b.pinned ? a.pinned : a.when > b.when;
    });
    return entries;
}

void Settings::remember(RecentEntry entry)
{
    QList<RecentEntry> entries = recent();
    for (const RecentEntry& known : entries) {
        if (!isSamePlace(known, entry))
            continue;
        entry.pinned = known.pinned;
        if (!entry.when.isValid())
            entry.when = known.when;
    }
    if (!entry.when.isValid())
        return; // it was removed from the list meanwhile
    entries.removeIf([&](const RecentEntry& known) { return isSamePlace(known, entry); });
    entries.prepend(entry);
    while (entries.size() > kMaxRecent) {
        const auto last = std::find_if(
            entries.rbegin(), entries.rend(), [](const RecentEntry& known) { return !known.pinned; });
        if (last == entries.rend())
            break;
        entries.erase(std::next(last).base());
    }
    writeRecent(entries);
}

void Settings::setPinned(const OpenedEntry& which, bool pinned)
{
    QList<RecentEntry> entries = recent();
    for (RecentEntry& entry : entries)
        if (isSamePlace(entry, which))
            entry.pinned = pinned;
    writeRecent(entries);
}

void Settings::forget(const OpenedEntry& which)
{
    QList<RecentEntry> entries = recent();
    entries.removeIf([&](const RecentEntry& entry) { return isSamePlace(entry, which); });
    writeRecent(entries);
}

void Settings::writeRecent(const QList<RecentEntry>& entries)
{
    m_store.remove(u"recent"_s);
    m_store.beginWriteArray(u"recent"_s, static_cast<int>(entries.size()));
    for (int i = 0; i < entries.size(); ++i) {
        m_store.setArrayIndex(i);
        const RecentEntry& entry = entries[i];
        writeEntry(entry);
        m_store.setValue(u"title"_s, entry.title);
        m_store.setValue(u"bytes"_s, entry.bytes);
        m_store.setValue(u"tags"_s, entry.tags);
        m_store.setValue(u"when"_s, entry.when);
        m_store.setValue(u"pinned"_s, entry.pinned);
    }
    m_store.endArray();
    Q_EMIT recentChanged();
}

} // namespace shardscope::ui
