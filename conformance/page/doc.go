// Package page opens the pages of `-o html` in a real browser: headless Chromium, driven through its DevTools protocol.
//
//	cd conformance/page && GOWORK=off go test . -v -args -chromium /usr/bin/chromium
//
// Without -chromium the tests are skipped. The folder is a module of its own, so that no other module requires the driver.
package page
