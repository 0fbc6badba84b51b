// Package hostile has a test that calls every exported function and method of the library with random hostile objects. It exports nothing.
//
// A seed makes a cluster of about 30 kinds of objects and then a row of calls. Values are negative, zero, huge, empty, doubled or
// missing, selectors have no values, quantities are odd, names have control characters, times are far away. Two worlds of one seed,
// whose maps were filled in opposite orders, make the same calls side by side. The test fails, and names seed and call, when
//
//  1. a call panics that the list of documented panics does not have,
//  2. a call changes an argument that the list of documented changes does not have,
//  3. the two worlds give different results,
//  4. a call takes longer than the budget of one call,
//  5. an exported function or method is neither reached nor listed with a reason.
//
// CONTRIBUTING.md has the command for more seeds.
package hostile
