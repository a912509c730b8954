//! Passes of the program, and passes over definitions.

use std::ffi::{c_void, CString};
use std::fmt;
use std::sync::Arc;

use crate::callback::{run, share, Registration};
use crate::error::check;
use crate::library::{c_text, Library};
use crate::program_failure::{program_status, ProgramFailure};
use crate::rejected::Rejected;
use crate::{sys, Result};

/// A pass of the program: it changes the definition of a model so that the model runs faster or
/// needs less memory, and computes the same. Several threads may call a method at a time. A panic is
/// an error of the call.
pub trait OptimizationPass: Send + Sync {
    /// The names of the passes that must have run before this one.
    fn dependencies(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether [`OptimizationPass::apply`] has something to do.
    ///
    /// # Errors
    ///
    /// The call that runs the pass returns the kind and the message.
    fn is_applicable(&self, call: &PassCall<'_>) -> std::result::Result<bool, ProgramFailure> {
        let _ = call;
        Ok(true)
    }

    /// Returns the changed definition, as JSON; `None`: it stays.
    ///
    /// # Errors
    ///
    /// As for [`OptimizationPass::is_applicable`].
    fn apply(&self, call: &PassCall<'_>) -> std::result::Result<Option<String>, ProgramFailure>;
}

/// What a pass works on.
#[derive(Clone, Copy)]
pub struct PassCall<'a> {
    raw: &'a sys::ferrum_pass_call,
}

impl<'a> PassCall<'a> {
    /// The definition, as JSON with the fields of docs/model_definition.md.
    pub fn definition_json(&self) -> &'a str {
        // SAFETY: the text has the length, and is valid during the call.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                self.raw.definition_json.cast(),
                self.raw.definition_bytes as usize,
            )
        };
        std::str::from_utf8(bytes).unwrap_or("")
    }

    /// Adds a warning of less than 1024 bytes to the result of the pass.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a text that is too long
    /// or has a NUL; [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) after 1000
    /// warnings.
    /// C function: [`ferrum_pass_warn_fn`](crate::sys::ferrum_pass_warn_fn).
    pub fn warn(&self, text: &str) -> Result<()> {
        let text = c_text("ferrum_pass_warn_fn", "warning", text)?;
        match self.raw.warn {
            // SAFETY: the function and the text are valid during the call.
            Some(warn) => check(unsafe { warn(self.raw.call, text.as_ptr()) }),
            None => Ok(()),
        }
    }

    fn replace(&self, definition: &str) -> Result<()> {
        let (text, size) = (definition.as_ptr().cast(), definition.len() as u64);
        match self.raw.replace {
            // SAFETY: the function and the text are valid during the call.
            Some(replace) => check(unsafe { replace(self.raw.call, text, size) }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for PassCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassCall")
            .field("definition_bytes", &self.raw.definition_bytes)
            .finish_non_exhaustive()
    }
}

type Held = Box<dyn OptimizationPass>;

const MESSAGE_ROOM: usize = sys::FERRUM_PASS_MESSAGE_MAX as usize;

unsafe extern "C" fn call_is_applicable(
    raw: *const sys::ferrum_pass_call,
    is_applicable: *mut u32,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: data is the registration's pass; the records are valid during the call.
    let (pass, raw, is_applicable): (Arc<Held>, _, _) =
        unsafe { (share(data), &*raw, &mut *is_applicable) };
    // SAFETY: the library gives the message its room.
    unsafe {
        program_status(raw.message_out, MESSAGE_ROOM, || {
            *is_applicable = pass.is_applicable(&PassCall { raw })?.into();
            Ok(())
        })
    }
}

unsafe extern "C" fn call_apply(
    raw: *const sys::ferrum_pass_call,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: as for is_applicable.
    let (pass, raw): (Arc<Held>, _) = unsafe { (share(data), &*raw) };
    unsafe {
        program_status(raw.message_out, MESSAGE_ROOM, || {
            let call = PassCall { raw };
            if let Some(changed) = pass.apply(&call)? {
                call.replace(&changed)?;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn call_release(data: *mut c_void) {
    // SAFETY: data is from Arc::into_raw, and this is the only call.
    run(|| drop(unsafe { Arc::from_raw(data.cast_const().cast::<Held>()) }));
}

/// A registered pass of the program. Dropping it removes the pass, unless a build uses it: then the
/// stop of the library removes it.
#[derive(Debug)]
#[must_use = "dropping it removes the pass"]
pub struct RegisteredPass {
    name: String,
    registration: Registration,
}

impl RegisteredPass {
    /// Its name, for the option "passes" of a build.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes the pass, as a drop does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a call uses the pass. The error returns the
    /// object.
    ///
    /// C function: [`ferrum_registration_remove`](crate::sys::ferrum_registration_remove).
    pub fn close(self) -> std::result::Result<(), Rejected<Self>> {
        let name = self.name;
        self.registration.close().map_err(|rejected| Rejected {
            error: rejected.error,
            object: Self {
                name,
                registration: rejected.object,
            },
        })
    }
}

impl Library {
    /// Registers a pass of the program under a name of 1 to 63 letters, digits, '_', '-' and '.'. The
    /// option "passes" of a build names the passes that run. The pass is dropped after the end of the
    /// registration.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for the name of another pass;
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for another name that is not
    /// possible, and for such a dependency.
    ///
    /// C function: [`ferrum_pass_register`](crate::sys::ferrum_pass_register).
    pub fn register_pass(
        &self,
        name: &str,
        pass: impl OptimizationPass + 'static,
    ) -> Result<RegisteredPass> {
        const FUNCTION: &str = "ferrum_pass_register";
        let c_name = c_text(FUNCTION, "name", name)?;
        let needs: Vec<CString> = pass
            .dependencies()
            .iter()
            .map(|need| c_text(FUNCTION, "dependencies", need))
            .collect::<Result<_>>()?;
        let list: Vec<_> = needs.iter().map(|need| need.as_ptr()).collect();
        let held: Arc<Held> = Arc::new(Box::new(pass));
        let data = Arc::into_raw(held);
        let raw = sys::ferrum_pass {
            dependency_count: u32::try_from(list.len()).unwrap_or(u32::MAX),
            name: c_name.as_ptr(),
            dependencies: list.as_ptr(),
            is_applicable: Some(call_is_applicable),
            apply: Some(call_apply),
            release: Some(call_release),
            user_data: data.cast_mut().cast(),
            ..Default::default()
        };
        let mut handle = Default::default();
        // SAFETY: the record and its texts are valid during the call, the pass until its release.
        let made = check(unsafe { sys::ferrum_pass_register(&raw, &mut handle) });
        if made.is_err() {
            // SAFETY: after the error the library does not have the pass.
            drop(unsafe { Arc::from_raw(data) });
        }
        made.map(|()| RegisteredPass {
            name: name.to_owned(),
            registration: Registration::released(self, handle),
        })
    }

    /// Runs passes over a definition. Nothing is built. `passes_json` is a JSON list of their names;
    /// `None`: the passes of optimization level 2. The result is JSON with the fields of
    /// docs/passes.md: the definition, and the results of the passes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFormat`](crate::ErrorKind::InvalidFormat) for the texts, and for a text that a
    /// pass returns; [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for a definition
    /// with issues that stop a build, given or made by a pass;
    /// [`ErrorKind::Model`](crate::ErrorKind::Model) for a pass that changes the inputs or outputs;
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a name without a pass, and for a
    /// dependency that is not in the list;
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for dependencies in a cycle;
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for a name that occurs twice; the
    /// errors of the passes.
    ///
    /// C function: [`ferrum_definition_optimize`](crate::sys::ferrum_definition_optimize).
    pub fn optimize_definition(
        &self,
        definition_json: &str,
        passes_json: Option<&str>,
    ) -> Result<String> {
        let mut made = Vec::<u8>::new();
        let (names, size) = match passes_json {
            Some(names) => (names.as_ptr(), names.len()),
            None => (std::ptr::null(), 0),
        };
        // SAFETY: the texts have the lengths that are passed; made is valid during the call.
        check(unsafe {
            sys::ferrum_definition_optimize(
                definition_json.as_ptr().cast(),
                definition_json.len(),
                names.cast(),
                size,
                Some(receive),
                std::ptr::from_mut(&mut made).cast(),
            )
        })?;
        Ok(String::from_utf8_lossy(&made).into_owned())
    }
}

unsafe extern "C" fn receive(text: *const std::ffi::c_char, size: u64, data: *mut c_void) {
    run(|| {
        // SAFETY: data is the vector of the call, and the text has the length.
        let (to, text) = unsafe {
            let text = std::slice::from_raw_parts(text.cast::<u8>(), size as usize);
            (&mut *data.cast::<Vec<u8>>(), text)
        };
        to.extend_from_slice(text);
    });
}
