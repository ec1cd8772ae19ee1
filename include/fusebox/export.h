/* FUSEBOX_API marks what libfusebox.so exports; the library version stands here too. Includes
 * nothing. */
#ifndef FUSEBOX_EXPORT_H_
#define FUSEBOX_EXPORT_H_

#if defined(__GNUC__)
#define FUSEBOX_API __attribute__((visibility("default")))
#else
#define FUSEBOX_API
#endif

#if defined(__cplusplus)
#define FUSEBOX_NOEXCEPT noexcept
#else
#define FUSEBOX_NOEXCEPT
#endif

#define FUSEBOX_VERSION_MAJOR 0
#define FUSEBOX_VERSION_MINOR 4
#define FUSEBOX_VERSION_PATCH 0
#define FUSEBOX_VERSION_STRING "0.4.0"

#endif /* FUSEBOX_EXPORT_H_ */
