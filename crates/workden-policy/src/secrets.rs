//! The files that presets protect: secrets anywhere, and the files of the system.
//!
//! Invariant: a pattern is as wide as possible without matching files that every project has. The exceptions of a wide
//! pattern are written beside it and apply to it alone.

use workden_core::RuleCase;

use crate::{Action, Rule};

/// A pattern of protected files, with its exceptions.
#[derive(Clone, Copy, Debug)]
pub struct Protected {
    /// The protected paths.
    pub pattern: &'static str,
    /// Paths that match the pattern but are not secret.
    pub except: &'static [&'static str],
}

impl Protected {
    /// Returns the rule that denies these files, in any letter case.
    #[must_use]
    pub fn rule(&self, description: &str) -> Rule {
        Rule {
            except: self.except.iter().map(ToString::to_string).collect(),
            description: description.to_owned(),
            case: Some(RuleCase::Insensitive),
            ..Rule::new(self.pattern, Action::Deny)
        }
    }
}

const fn all(pattern: &'static str) -> Protected {
    Protected { pattern, except: &[] }
}

/// Source code, which mentions secrets far more often than it contains one.
const CODE: &str = "*.{py,pyi,pyx,rs,go,c,cc,cpp,cxx,h,hh,hpp,m,mm,cs,fs,vb,java,kt,kts,scala,groovy,clj,cljs,swift,dart,\
js,jsx,mjs,cjs,ts,tsx,mts,cts,vue,svelte,astro,rb,erb,rake,php,pl,pm,lua,ex,exs,erl,hrl,hs,ml,mli,r,jl,nim,zig,sol,proto}";
/// Documents and pictures.
const PROSE: &str = "*.{md,mdx,rst,adoc,html,htm,xhtml,css,scss,sass,less,svg,png,jpg,jpeg,gif,webp,ico,snap}";
/// Files that every package has, whatever its name.
const MANIFEST: &str = "{Cargo.toml,package.json,tsconfig*.json,go.mod,go.sum,pyproject.toml,setup.cfg,BUILD,BUILD.bazel,\
Makefile,CMakeLists.txt,README*,LICENSE*,CHANGELOG*,.gitignore,.gitkeep}";
/// Database migrations: numbered, and about columns, not values.
const MIGRATION: &str = "{[0-9],V[0-9],U[0-9]}*.sql";
/// Pages, mails and directories about changing a password.
const RESET: &str = "{*{forgot,reset,change,update,recover,lost}*password*,\
*password*{reset,change,forgot,recover,policy,strength,validat,hash,generator,field,input,form}*}";
/// Templates that are meant to be copied and filled in.
const EXAMPLE: &str = "*{example,sample,template,.dist,.tmpl,.tpl,.j2}*";

/// Files that contain secrets.
pub const SECRETS: &[Protected] = &[
    // Environment files.
    Protected {
        pattern: "{.env,.env.*,.env-*,.env_*,.env~,.envrc,.envrc.*,*.env}",
        except: &[
            "{.env,.envrc}{.,-,_}{example,sample,template,dist,default,defaults,schema,tmpl,tpl}",
            "{.env,.envrc}.*.{example,sample,template,dist}",
            "{example,sample,template,default,defaults}{,.*,-*,_*}.env",
        ],
    },
    all("**/.envs/**"),
    // Keys and stores of keys.
    all(
        "*.{pem,key,crt,p8,p12,pfx,jks,jceks,bks,keystore,kdb,kdbx,ppk,keytab,agekey,ovpn}{,~,.bak,.old,.orig,.backup}",
    ),
    // Copies that editors leave behind.
    all("{..env.sw?,..env.*.sw?,.#.env*,#.env*#,.id_{rsa,dsa,ecdsa,ed25519}.sw?}"),
    Protected { pattern: "id_{rsa,dsa,ecdsa,ed25519,xmss}*", except: &["*.pub", CODE, PROSE] },
    all("*{_,-,.}{rsa,dsa,ecdsa,ed25519}"),
    Protected { pattern: "*private{,-,_,.}key*", except: &[CODE, PROSE] },
    // Files that programs keep in a home directory.
    all(
        "{.netrc,_netrc,.pgpass,pgpass.conf,.my.cnf,.mylogin.cnf,.npmrc,.pypirc,.git-credentials,.dockercfg,.htpasswd}",
    ),
    all("{.s3cfg,.boto,rclone.conf,.rclone.conf,.vault-token,.terraformrc,kubeconfig,*.kubeconfig,.token}"),
    all("**/.docker/config.json"),
    all("**/.kube/config*"),
    all("**/{.aws,.ssh,.gnupg,.azure,.gcloud,.oci,.password-store}/**"),
    all("**/.config/{gcloud,gh,hub,rclone,doctl,op}/**"),
    all("**/.local/share/keyrings/**"),
    all(
        "**/{.mozilla,.config/google-chrome,.config/chromium}/**/{logins.json,key4.db,cookies.sqlite,Login Data,Cookies}",
    ),
    all(".{bash,zsh,sh,psql,mysql,sqlite,rediscli}_history"),
    // Kinds of files that hold secrets.
    all("{*.tfstate,*.tfstate.backup,terraform.tfstate*}"),
    Protected { pattern: "{*service{,-,_}account*.json,*serviceaccount*.json}", except: &[EXAMPLE, "*schema*"] },
    all("{api,auth,access,refresh}{,-,_}{key,keys,token,tokens}{,.txt,.json}"),
    // Names that announce secrets.
    Protected { pattern: "{*secret*,*passphrase*}", except: &[CODE, PROSE, EXAMPLE, MIGRATION, "*secretar*"] },
    Protected { pattern: "*password*", except: &[CODE, PROSE, EXAMPLE, MIGRATION, RESET] },
    // The system's list of users is not secret, and many programs read it.
    Protected { pattern: "*passwd*", except: &[CODE, PROSE, EXAMPLE, "/{etc,usr,bin}/**"] },
    Protected { pattern: "*credential*", except: &[CODE, PROSE, EXAMPLE, MIGRATION] },
    // Code and prose that is known to contain values: of microcontrollers, of Ruby on Rails, and notes.
    all("{secrets.{py,rb,h,hpp},arduino_secrets.h,passwords.md}"),
    Protected {
        pattern: "**/{,.}{secrets,secrets-*,secrets_*,secrets.*,secret,passwords,credentials}/**",
        except: &[CODE, MANIFEST],
    },
    // Files of the system that only root can read.
    all("/etc/{shadow,gshadow,sudoers}*"),
    all("/etc/sudoers.d/**"),
    all("/proc/**/{environ,mem,kcore}"),
    all("/proc/**/{root,cwd}/**"),
];

/// Paths of the system, for workspaces whose paths are those of a whole machine.
pub const SYSTEM: &[Protected] = &[
    all("/{etc,var,usr,bin,sbin,boot,sys,proc,lib,lib32,lib64,libx32}"),
    all("/{etc,var,usr,bin,sbin,boot,sys,proc,lib,lib32,lib64,libx32}/**"),
    Protected {
        pattern: "/{dev,dev/**}",
        except: &["/dev/{null,zero,full,stdin,stdout,stderr,tty}", "/dev/{fd,shm,pts}/**"],
    },
];
