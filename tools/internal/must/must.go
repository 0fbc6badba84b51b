// Package must ends a computation of many functions at the first error, where none of the functions between can do anything about
// the error. Planners use it: every change of a snapshot may return an error, although the objects were checked before.
//
//	func (p *Planner) Plan() (plan *Plan, err error) {
//		defer must.Catch(&err)
//		...
//		must.Do(snapshot.Set(pod)) // an error ends Plan, which returns the error
//
// Each exported function of a public package that reaches Do or Get defers Catch, so that no caller of a package meets a panic.
package must

// stop is the value of a panic that Catch ends.
type stop struct{ err error }

// Do does nothing when err is nil. Otherwise the function that deferred Catch returns err.
func Do(err error) {
	if err != nil {
		panic(stop{err})
	}
}

// Get returns v when err is nil. Otherwise the function that deferred Catch returns err.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Catch sets *err to the error that Do or Get met. It must be deferred itself. Any other panic goes on.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case stop:
		*err = r.err
	default:
		panic(r)
	}
}
